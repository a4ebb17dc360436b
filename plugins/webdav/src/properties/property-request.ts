import { invalid } from '@nodekeep/plugin-sdk'
import type { Element } from '@xmldom/xmldom'
import { davElementIn, elementsIn, isDav, nameOf, parseXml, standaloneXml } from '../xml.ts'

/** The properties that a PROPFIND asks for (RFC 4918, section 9.1). Names have the form `{DAV:}getetag`. */
export type PropertyQuery =
  | { readonly kind: 'names' }
  | { readonly kind: 'some'; readonly names: readonly string[] }
  /** All usual ones, and those that are named. */
  | { readonly kind: 'all'; readonly names: readonly string[] }

/** A change of one property by a PROPPATCH (RFC 4918, section 9.2). */
export interface PropertyChange {
  readonly name: string
  /** The new value; null if the property is removed. */
  readonly value: { readonly text: string; readonly xml: string } | null
}

/**
 * Reads the body of a PROPFIND. An empty one asks for all properties.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function parsePropfind(body: Uint8Array): Promise<PropertyQuery> {
  if (body.length === 0) return { kind: 'all', names: [] }
  const root = await parseXml(body)
  if (!isDav(root, 'propfind')) throw invalid('The body of a PROPFIND must be the element "propfind".')
  const kinds = elementsIn(root).filter((child) =>
    ['prop', 'allprop', 'propname'].some((name) => isDav(child, name)),
  )
  const [kind, ...others] = kinds
  if (kind === undefined || others.length > 0)
    throw invalid('The element "propfind" must have one of "prop", "allprop" and "propname".')
  if (kind.localName === 'propname') return { kind: 'names' }
  if (kind.localName === 'prop') return { kind: 'some', names: namesIn(kind) }
  const include = davElementIn(root, 'include')
  return { kind: 'all', names: include === undefined ? [] : namesIn(include) }
}

/**
 * Reads the body of a PROPPATCH.
 *
 * @returns the changes in their order
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function parseProppatch(body: Uint8Array): Promise<readonly PropertyChange[]> {
  if (body.length === 0) throw invalid('A PROPPATCH needs a body.')
  const root = await parseXml(body)
  if (!isDav(root, 'propertyupdate'))
    throw invalid('The body of a PROPPATCH must be the element "propertyupdate".')
  const changes = elementsIn(root).flatMap((instruction) => {
    const isSet = isDav(instruction, 'set')
    if (!isSet && !isDav(instruction, 'remove')) return []
    return elementsIn(instruction)
      .filter((child) => isDav(child, 'prop'))
      .flatMap(elementsIn)
      .map((property) => ({ name: nameOf(property), value: isSet ? parsedValue(property) : null }))
  })
  if (changes.length === 0) throw invalid('The element "propertyupdate" changes no property.')
  return changes
}

function namesIn(element: Element): readonly string[] {
  return [...new Set(elementsIn(element).map(nameOf))]
}

function parsedValue(property: Element) {
  return { text: property.textContent ?? '', xml: standaloneXml(property) }
}
