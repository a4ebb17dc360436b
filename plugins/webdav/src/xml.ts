import { isUtf8 } from 'node:buffer'
import { invalid } from '@nodekeep/plugin-sdk'
import type { Attr, Element, Node } from '@xmldom/xmldom'

/** The namespace of WebDAV (RFC 4918, section 14). */
export const davNamespace = 'DAV:'

/** Bytes of the XML of a request. */
export const longestXml = 64 * 1024

/** Tags of a request. The parser takes the product of tags and namespaces in the worst case. */
const mostTags = 1000

/** Elements within each other. */
const mostLevels = 100

/** The beginning of each XML document of the node. The prefix `D` stands for {@link davNamespace} in all of it. */
export const xmlHead = '<?xml version="1.0" encoding="utf-8"?>\n'

/** The media type of XML in answers. */
export const xmlType = 'application/xml; charset=utf-8'

/**
 * Parses the XML of a request, without a document type: so there are no entities.
 *
 * @returns the outermost element
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function parseXml(bytes: Uint8Array): Promise<Element> {
  const text = textOf(bytes)
  if (/<!DOCTYPE/i.test(text)) throw invalid('The XML must not have a document type ("<!DOCTYPE").')
  if (text.split('<', mostTags + 2).length > mostTags + 1)
    throw invalid(`The XML has more than ${mostTags} tags.`)
  // Most requests of most nodes have no XML.
  const { DOMParser } = await import('@xmldom/xmldom')
  const root = parsed(text, new DOMParser({ locator: false, onError: stopParsing }))
  if (root === null) throw notWellFormed()
  refuseOthers(root)
  return root
}

/** The elements in an element. */
export function elementsIn(element: Element): Element[] {
  return childrenOf(element).filter((node): node is Element => node.nodeType === 1)
}

/** The first element in an element that is one of WebDAV with this name. */
export function davElementIn(element: Element, name: string): Element | undefined {
  return elementsIn(element).find((child) => isDav(child, name))
}

export function isDav(element: Element, name: string): boolean {
  return element.namespaceURI === davNamespace && element.localName === name
}

/** The name of an element with its namespace, as `{DAV:}getetag`. */
export function nameOf(element: Element): string {
  return nameIn(element.namespaceURI ?? '', element.localName ?? '')
}

export function nameIn(namespace: string, name: string): string {
  return `{${namespace}}${name}`
}

/** An empty element with a name such as `{DAV:}getetag`. */
export function emptyElement(name: string): string {
  return elementWriter(name)('')
}

/** Returns a function that writes elements with a name such as `{DAV:}getetag`, and XML in them. */
export function elementWriter(name: string): (content: string) => string {
  const end = name.lastIndexOf('}')
  const namespace = name.slice(1, end)
  const local = name.slice(end + 1)
  const tag = namespace === davNamespace ? `D:${local}` : local
  const begin = namespace === davNamespace || namespace === '' ? tag : `${tag} xmlns="${escaped(namespace)}"`
  return (content) => (content === '' ? `<${begin}/>` : `<${begin}>${content}</${tag}>`)
}

/** Text for XML. Characters that XML 1.0 cannot have (section 2.2) become U+FFFD. */
export function escaped(text: string): string {
  return text
    .replace(/[&<>"\r]/g, (character) => escapes[character] ?? '')
    .replace(forbidden, '\ufffd')
    .toWellFormed()
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\r': '&#13;',
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to replace
const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g

/**
 * Writes an element so that it can stand in another document: it declares all prefixes that it uses, and has the language that it had by an element
 * around it (RFC 4918, section 4.3). Comments are left out.
 */
export function standaloneXml(element: Element): string {
  const language = element.hasAttribute('xml:lang') ? '' : languageAround(element)
  const known: Prefixes = Object.create(null)
  known.xml = 'http://www.w3.org/XML/1998/namespace'
  return written(element, known, language)
}

/** The namespaces of prefixes. Those of an element inherit those around it, because a copy for each would take long. */
type Prefixes = Record<string, string>

function written(element: Element, outer: Prefixes, language = ''): string {
  const prefixes: Prefixes = Object.create(outer)
  const attributes = language === '' ? [] : [`xml:lang="${escaped(language)}"`]
  const others: [name: string, value: string][] = []
  const declare = (prefix: string, namespace: string) => {
    if ((prefixes[prefix] ?? '') === namespace) return
    prefixes[prefix] = namespace
    attributes.push(`${prefix === '' ? 'xmlns' : `xmlns:${prefix}`}="${escaped(namespace)}"`)
  }
  declare(element.prefix ?? '', element.namespaceURI ?? '')
  for (const { name, prefix, localName, namespaceURI, value } of Array.from(element.attributes)) {
    if (name === 'xmlns') declare('', value)
    else if (prefix === 'xmlns') declare(localName ?? '', value)
    else {
      if (prefix) declare(prefix, namespaceURI ?? '')
      others.push([name, value])
    }
  }
  for (const [name, value] of others) attributes.push(`${name}="${escaped(value)}"`)
  const content = childrenOf(element).map((node) => {
    if (node.nodeType === 1) return written(node as Element, prefixes)
    return node.nodeType === 3 || node.nodeType === 4 ? escaped(node.nodeValue ?? '') : ''
  })
  const begin = [element.nodeName, ...attributes].join(' ')
  return content.length === 0 ? `<${begin}/>` : `<${begin}>${content.join('')}</${element.nodeName}>`
}

function languageAround(element: Element): string {
  for (let node: Node | null = element.parentNode; node?.nodeType === 1; node = node.parentNode) {
    const language = (node as Element).getAttribute('xml:lang')
    if (language) return language
  }
  return ''
}

function childrenOf(element: Element): Node[] {
  const children: Node[] = []
  for (let node: Node | null = element.firstChild; node !== null; node = node.nextSibling) children.push(node)
  return children
}

/** The parser reports what is not well-formed in several levels. U+FFFD is well-formed, and it warns of that too. */
function stopParsing(_level: string, message: string): void {
  if (!message.includes('Unicode replacement character')) throw notWellFormed()
}

interface Parser {
  parseFromString(text: string, type: 'application/xml'): { readonly documentElement: Element | null }
}

function parsed(text: string, parser: Parser): Element | null {
  try {
    return parser.parseFromString(text, 'application/xml').documentElement
  } catch {
    throw notWellFormed()
  }
}

/** The parser takes elements within each other without a limit, and prefixes that cannot be (Namespaces in XML 1.0, sections 2.2, 3 and 5). */
function refuseOthers(root: Element): void {
  let level = [root]
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > mostLevels) throw invalid(`The XML has elements in more than ${mostLevels} levels.`)
    for (const { prefix, namespaceURI, attributes } of level) {
      if (prefix && !namespaceURI) throw notWellFormed()
      if (Array.from(attributes).some(hasWrongPrefix)) throw notWellFormed()
    }
    level = level.flatMap(elementsIn)
  }
}

function hasWrongPrefix({ name, prefix, localName, namespaceURI, value }: Attr): boolean {
  if (prefix === 'xmlns') return value === '' || localName === 'xml' || localName === 'xmlns'
  return name !== 'xmlns' && Boolean(prefix) && !namespaceURI
}

/** RFC 4918, section 8.2: bodies are UTF-8 or UTF-16. */
function textOf(bytes: Uint8Array): string {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  if (!isUtf8(bytes)) throw invalid('The XML is neither UTF-8 nor UTF-16.')
  return new TextDecoder().decode(bytes)
}

function notWellFormed() {
  return invalid('The body is not well-formed XML.')
}
