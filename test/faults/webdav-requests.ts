import type { Random } from './random.ts'

/** A request that is wrong in some way, or in none. */
export interface OddRequest {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

const methods =
  'OPTIONS PROPFIND PROPFIND PROPPATCH PROPPATCH MKCOL MKCOL GET HEAD PUT PUT DELETE COPY COPY MOVE MOVE LOCK LOCK UNLOCK POST PATCH REPORT SEARCH'.split(
    ' ',
  ) as [string, ...string[]]

/** Parts of paths, as they are sent. The last one is empty. */
const segments =
  `a b c a b c d%20e f%25 %C3%BC caf%65%CC%81 % %zz %00 %ff %2f %5c .. . %2e%2e ${'x'.repeat(300)} %F0%9F%98%80 %ED%A0%80 %7f %0d%0a ._a * ?x ~ `.split(
    ' ',
  ) as [string, ...string[]]

const times = [
  'Second-3600',
  'Infinite',
  'Infinite, Second-4100000000',
  'Second--1',
  'Second-1e99',
  '',
  'never',
] as const
const documents = [
  '<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/></propfind>',
  '<D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>',
  '<D:propfind xmlns:D="DAV:"><D:prop><D:getetag/><D:lockdiscovery/><x:y xmlns:x="urn:x"/><z xmlns=""/></D:prop></D:propfind>',
  '<D:propfind xmlns:D="DAV:"><D:allprop/><D:include><D:quota-used-bytes/></D:include></D:propfind>',
  '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:x">blue &amp; <b a="1">green</b></color></prop></set></propertyupdate>',
  '<propertyupdate xmlns="DAV:"><set><prop><getlastmodified>Mon, 12 Jan 1998 09:25:56 GMT</getlastmodified></prop></set><remove><prop><color xmlns="urn:x"/></prop></remove></propertyupdate>',
  '<propertyupdate xmlns="DAV:"><set><prop><getetag>x</getetag></prop></set></propertyupdate>',
  '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner><href>me</href></owner></lockinfo>',
  '<lockinfo xmlns="DAV:"><lockscope><shared/></lockscope><locktype><write/></locktype></lockinfo>',
] as const

/** Entities that grow, files of the node, prefixes without a namespace, names of JavaScript: documents that parsers fall for. */
const hostileDocuments = [
  '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">]><propfind xmlns="DAV:"><prop>&y;</prop></propfind>',
  '<!DOCTYPE a SYSTEM "file:///etc/passwd"><propfind xmlns="DAV:"><allprop/></propfind>',
  '<propfind xmlns="DAV:"><prop><p:q/></prop></propfind>',
  '<propfind xmlns="DAV:"><prop xmlns:p=""><p:q/></prop></propfind>',
  '<a:propfind xmlns:a="DAV:" xmlns:a="DAV:"/>',
  `${'<a>'.repeat(3000)}${'</a>'.repeat(3000)}`,
  `<propfind xmlns="DAV:"><prop>${'<getetag/>'.repeat(3000)}</prop></propfind>`,
  `<propfind xmlns="DAV:" a="${'x'.repeat(60_000)}"><allprop/></propfind>`,
  `<propfind xmlns="DAV:">${' '.repeat(70_000)}<allprop/></propfind>`,
  '<propfind xmlns="DAV:"><prop><__proto__/><constructor xmlns="__proto__"/></prop></propfind>',
  '<propertyupdate xmlns="DAV:"><set><prop><__proto__ xmlns="">x</__proto__></prop></set></propertyupdate>',
  '<propfind xmlns="DAV:"><prop><![CDATA[<getetag/>]]><?php x ?><!-- - --></prop></propfind>',
  '<?xml version="1.0" encoding="utf-7"?><propfind xmlns="DAV:"><allprop/></propfind>',
  '&#0;&#xd800;&#x110000;<propfind xmlns="DAV:"/>',
] as const

/** Makes a random request. `origin` is that of the node. */
export function oddRequest(random: Random, origin: string): OddRequest {
  const method = random.pick(methods)
  const headers: Record<string, string> = {}
  const sometimes = (name: string, probability: number, value: () => string) => {
    if (random.chance(probability)) headers[name] = value()
  }
  const tokens = ['urn:uuid:1', 'opaquelocktoken:x', '', 'DAV:no-lock'] as const
  const token = () => `<${random.pick(tokens)}>`
  sometimes('depth', 0.6, () => random.pick(['0', '1', 'infinity', 'Infinity', '2', '-1', '']))
  sometimes('destination', method === 'COPY' || method === 'MOVE' ? 0.95 : 0.1, () => {
    const path = `/dav${pathOf(random)}`
    return random.pick([
      path,
      `${origin}${path}`,
      origin,
      '/',
      '/read?path=/a',
      'http://[',
      'ftp://x/',
      `${path}#x`,
    ])
  })
  sometimes('overwrite', 0.3, () => random.pick(['T', 'F', 't', 'yes', '']))
  sometimes('timeout', 0.3, () => random.pick(times))
  sometimes('lock-token', method === 'UNLOCK' ? 0.9 : 0.05, token)
  sometimes('if', 0.2, () => ifHeader(random, token))
  sometimes('range', 0.2, () =>
    random.pick(['bytes=0-', 'bytes=5-1', 'bytes=-0', 'bytes=0-0,2-3', 'lines=1', 'bytes=']),
  )
  sometimes('content-range', 0.05, () => 'bytes 0-1/2')
  sometimes('if-match', 0.15, () => random.pick(['*', '"x"', 'W/"x"', 'x', '"a", "b"', '']))
  sometimes('if-none-match', 0.15, () => random.pick(['*', '"x"', ',']))
  sometimes('if-modified-since', 0.05, () => random.pick(['yesterday', 'Mon, 12 Jan 1998 09:25:56 GMT']))
  sometimes('x-oc-mtime', 0.15, () => random.pick(['1700000000', '1e30', '-1', 'NaN', '1700000000.5', '']))
  sometimes('oc-checksum', 0.1, () => random.pick(['SHA256:x', 'SHA1:', 'MD5', ':', 'ADLER32:1']))
  sometimes('content-type', 0.5, () =>
    random.pick([
      'application/xml',
      'text/xml; charset="utf-8"',
      'application/json',
      'text/xml;charset=x',
      ';;',
      'a/b/c',
    ]),
  )
  sometimes('translate', 0.05, () => 'f')
  sometimes('expect', 0.02, () => random.pick(['100-continue', 'x']))
  return { method, target: `/dav${pathOf(random)}`, headers, body: bodyOf(random, method) }
}

function pathOf(random: Random): string {
  const count = random.integer(0, 4)
  const path = Array.from({ length: count }, () => `/${random.pick(segments)}`).join('')
  return random.chance(0.3) ? `${path}/` : path
}

function ifHeader(random: Random, token: () => string): string {
  const pieces = [
    token,
    () => '(',
    () => ')',
    () => 'Not ',
    () => '["x"]',
    () => '[W/"x"]',
    () => ' ',
    () => '</dav/a>',
  ]
  const wellFormed = [
    `(${token()})`,
    `</dav/a> (${token()} ["x"])`,
    '(Not <DAV:no-lock>)',
    '(["x"])',
  ] as const
  if (random.chance(0.4)) return random.pick(wellFormed)
  const length = random.integer(1, 40)
  const [first, ...rest] = pieces as [() => string, ...(() => string)[]]
  return Array.from({ length }, () => random.pick([first, ...rest])()).join('')
}

function bodyOf(random: Random, method: string): Buffer {
  if (method === 'GET' || method === 'HEAD' || random.chance(0.25)) return Buffer.alloc(0)
  const kind = random.integer(0, 5)
  if (kind === 0) return random.bytes(random.integer(0, 200))
  if (kind === 1) return Buffer.from(random.pick(hostileDocuments))
  const document = Buffer.from(random.pick(documents))
  if (kind === 2) return document.subarray(0, random.integer(0, document.length))
  if (kind === 3) {
    const damaged = Buffer.from(document)
    for (let n = random.integer(1, 4); n > 0; n -= 1)
      damaged[random.integer(0, damaged.length - 1)] = random.integer(0, 255)
    return damaged
  }
  if (kind === 4) return Buffer.from(`\ufeff${document}`, 'utf16le')
  return document
}
