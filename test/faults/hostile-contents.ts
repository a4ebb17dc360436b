import { crc32, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import type { Random } from './random.ts'

/** Valid files. */
export type Samples = readonly { readonly extension: string; readonly bytes: Buffer }[]

/** Something outside that no file may reach: a server, a file and a word in it. */
export interface Canary {
  readonly url: string
  readonly file: string
  readonly word: string
}

/** A file that is made to harm who decodes it. */
interface HostileFile {
  /** The kind of harm, for the log. */
  readonly kind: string
  readonly extension: string
  readonly bytes: Buffer
}

type Maker = (random: Random, samples: Samples, canary: Canary) => Omit<HostileFile, 'kind'>

/** Numbers that decoders forget to check. */
const extremes = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff] as const
const openings = [
  '<div>',
  '<table>',
  '<a href="',
  '<!--',
  '<script>',
  '<svg><math>',
  '&#',
  '<b><i><p>',
] as const

const makers: Readonly<Record<string, Maker>> = {
  fuzzed: (random, samples) => {
    const { extension, bytes } = sampleOf(random, samples)
    return { extension, bytes: fuzzed(random, bytes) }
  },
  truncated: (random, samples) => {
    const { extension, bytes } = sampleOf(random, samples)
    return { extension, bytes: bytes.subarray(0, random.integer(0, bytes.length)) }
  },
  misnamed: (random, samples) => {
    const { bytes } = sampleOf(random, samples)
    return {
      extension: sampleOf(random, samples).extension,
      bytes: random.chance(0.5) ? bytes : fuzzed(random, bytes),
    }
  },
  polyglot: (random, samples) => {
    const { extension, bytes } = sampleOf(random, samples)
    const { extension: other, bytes: behind } = sampleOf(random, samples)
    return { extension: random.chance(0.5) ? extension : other, bytes: Buffer.concat([bytes, behind]) }
  },
  noise: (random, samples) => {
    const { extension, bytes } = sampleOf(random, samples)
    const begin = bytes.subarray(0, random.integer(0, 64))
    return { extension, bytes: Buffer.concat([begin, random.bytes(random.integer(0, 4096))]) }
  },
  'huge picture': (random) => random.pick([hugePng, hugeGif, hugeJpeg, hugeWebp, flatPng])(random),
  'endless boxes': (random) => ({ extension: random.pick(['m4a', 'avif', 'heic']), bytes: boxes(random) }),
  'lying audio': (random) => random.pick([lyingId3, lyingFlac, lyingOgg])(random),
  'hostile PDF': (random, _, canary) => ({ extension: 'pdf', bytes: hostilePdf(random, canary) }),
  'hostile HTML': (random, _, canary) => ({ extension: 'html', bytes: hostileHtml(random, canary) }),
  SVG: (random, _, canary) => ({ extension: random.pick(['svg', 'png', 'jpg']), bytes: hostileSvg(canary) }),
  'lying archive': (random) => ({
    extension: random.pick(['zip', 'docx', 'gz', 'txt']),
    bytes: archive(random),
  }),
  'odd text': (random) => ({ extension: random.pick(['txt', 'md', 'ts', 'csv']), bytes: oddText(random) }),
}

/** Makes a hostile file. */
export function hostileFile(random: Random, samples: Samples, canary: Canary): HostileFile {
  // Most files are fuzzed ones: each of them is another one.
  const kind = random.chance(0.4) ? 'fuzzed' : random.pick(Object.keys(makers) as [string, ...string[]])
  const make = makers[kind] as Maker
  return { kind, ...make(random, samples, canary) }
}

function sampleOf(random: Random, samples: Samples): Samples[number] {
  const [first, ...others] = samples
  if (first === undefined) throw new Error('There are no samples.')
  return random.pick([first, ...others])
}

/** Changes, repeats, removes and adds bytes. */
function fuzzed(random: Random, original: Buffer): Buffer {
  let bytes = Buffer.from(original)
  for (let left = random.integer(1, 12); left > 0 && bytes.length > 8; left -= 1) {
    const at = random.integer(0, bytes.length - 5)
    const end = Math.min(bytes.length, at + random.integer(1, 64))
    const change = random.integer(0, 5)
    if (change <= 1) bytes[at] = random.integer(0, 255)
    else if (change === 2) bytes.writeUInt32BE(random.pick(extremes), at)
    else if (change === 3) bytes.writeUInt32LE(random.pick(extremes), at)
    else if (change === 4) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)])
    else
      bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(random.integer(0, 16)), bytes.subarray(end)])
  }
  return bytes
}

function pngChunk(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  const named = Buffer.concat([Buffer.from(type), body])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

function png(width: number, height: number, depth: number, colors: number, data: Buffer): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([depth, colors, 0, 0, 0], 8)
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    pngChunk('IHDR', head),
    pngChunk('IDAT', data),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function hugePng(random: Random): Omit<HostileFile, 'kind'> {
  const side = random.pick([60_000, 0x7fffffff, 100_000])
  return { extension: 'png', bytes: png(side, side, 8, 2, deflateSync(Buffer.alloc(100_000))) }
}

/** A valid picture of one color: few bytes, and many pixels. */
function flatPng(random: Random): Omit<HostileFile, 'kind'> {
  const side = random.pick([4000, 8000, 12_000])
  const rows = Buffer.alloc(side * (1 + Math.ceil(side / 8)))
  return { extension: 'png', bytes: png(side, side, 1, 0, deflateSync(rows)) }
}

function hugeGif(random: Random): Omit<HostileFile, 'kind'> {
  const bytes = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64')
  bytes.writeUInt16LE(60_000, 6)
  bytes.writeUInt16LE(60_000, 8)
  if (random.chance(0.5)) bytes.writeUInt16LE(60_000, 24)
  // Frames without end.
  const frame = bytes.subarray(19, bytes.length - 1)
  return {
    extension: 'gif',
    bytes: Buffer.concat([bytes.subarray(0, -1), ...Array(random.integer(0, 5000)).fill(frame)]),
  }
}

function hugeJpeg(random: Random): Omit<HostileFile, 'kind'> {
  const frame = Buffer.from([
    0xff, 0xc2, 0, 17, 8, 0xfd, 0xe8, 0xfd, 0xe8, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1,
  ])
  const scan = Buffer.from([0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0])
  const scans = Array(random.integer(1, 2000)).fill(scan)
  return { extension: 'jpg', bytes: Buffer.concat([Buffer.from([0xff, 0xd8]), frame, ...scans]) }
}

function hugeWebp(random: Random): Omit<HostileFile, 'kind'> {
  const body = Buffer.alloc(random.integer(30, 300))
  body.write('VP8X', 0)
  body.writeUInt32LE(10, 4)
  body.writeUInt32LE(0xffffff, 12)
  body.writeUInt32LE(0xffffff, 15)
  const head = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1')
  head.writeUInt32LE(random.pick([body.length + 4, 0xffffffff]), 4)
  return { extension: 'webp', bytes: Buffer.concat([head, body]) }
}

/** Boxes within boxes, with sizes that lie: 0 is "to the end", 1 means that a long size follows. */
function boxes(random: Random): Buffer {
  const types = [
    'ftyp',
    'meta',
    'moov',
    'trak',
    'udta',
    'ilst',
    'covr',
    'iloc',
    'iinf',
    'iprp',
    'ipco',
    'ispe',
    'mdat',
  ] as const
  const parts = [Buffer.from('\0\0\0\x18ftypM4A \0\0\0\0avifheic', 'latin1')]
  for (let left = random.integer(1, 2000); left > 0; left -= 1) {
    const box = Buffer.alloc(8 + random.integer(0, 24), random.integer(0, 255))
    box.writeUInt32BE(
      random.chance(0.5) ? box.length * left : random.pick([0, 1, 7, 8, 0x7fffffff, 0xffffffff]),
      0,
    )
    box.write(random.pick(types), 4)
    parts.push(box)
  }
  return Buffer.concat(parts)
}

function lyingId3(random: Random): Omit<HostileFile, 'kind'> {
  const frame = Buffer.alloc(30, random.integer(0, 255))
  frame.write(random.pick(['APIC', 'TIT2', 'CHAP', 'COMM']), 0)
  frame.writeUInt32BE(random.pick(extremes), 4)
  const head = Buffer.from([
    0x49,
    0x44,
    0x33,
    random.pick([2, 3, 4]),
    0,
    random.integer(0, 255),
    0x7f,
    0x7f,
    0x7f,
    0x7f,
  ])
  return { extension: 'mp3', bytes: Buffer.concat([head, ...Array(random.integer(1, 500)).fill(frame)]) }
}

function lyingFlac(random: Random): Omit<HostileFile, 'kind'> {
  const block = Buffer.alloc(60)
  block.writeUInt32BE(0x06000000 + random.pick([0, 32, 0xffffff]), 0)
  for (let at = 4; at < 60; at += 4) block.writeUInt32BE(random.pick(extremes), at)
  return {
    extension: 'flac',
    bytes: Buffer.concat([Buffer.from('fLaC'), ...Array(random.integer(1, 300)).fill(block)]),
  }
}

function lyingOgg(random: Random): Omit<HostileFile, 'kind'> {
  const page = Buffer.concat([
    Buffer.from('OggS'),
    Buffer.alloc(23, random.integer(0, 255)),
    random.bytes(random.integer(1, 300)),
  ])
  return { extension: 'ogg', bytes: Buffer.concat(Array(random.integer(1, 200)).fill(page)) }
}

function hostilePdf(random: Random, canary: Canary): Buffer {
  const stream = (dictionary: string, body: Buffer) =>
    Buffer.concat([
      Buffer.from(`<< ${dictionary} /Length ${body.length} >>\nstream\n`),
      body,
      Buffer.from('\nendstream'),
    ])
  const text = deflateSync(
    Buffer.from(`BT /F1 12 Tf 10 10 Td (${'word '.repeat(random.integer(1, 50))}) Tj ET`),
  )
  const bomb = deflateSync(deflateSync(Buffer.alloc(random.pick([1, 20]) * 1024 * 1024, 'q ')))
  const content = random.pick([
    stream('/Filter /FlateDecode', text),
    stream('/Filter [/FlateDecode /FlateDecode]', bomb),
    stream('/Filter /FlateDecode', random.bytes(500)),
    Buffer.from('5 0 R'),
    Buffer.from('['.repeat(random.pick([100, 50_000]))),
  ])
  const objects = [
    Buffer.from(
      `<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /Launch /F (${canary.file}) >> /Names << /JavaScript << /Names [(a) << /S /JavaScript /JS (app.launchURL\\("${canary.url}"\\)) >>] >> >> >>`,
    ),
    Buffer.from(
      `<< /Type /Pages /Kids [3 0 R ${random.pick(['', '2 0 R', '3 0 R '.repeat(2000)])}] /Count ${random.pick([1, -1, 1e9])} >>`,
    ),
    Buffer.from(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${random.pick([300, 1e9])} 300] /Contents ${random.pick(['4 0 R', '5 0 R', '99 0 R'])} /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 5 0 R >> >> >> >>`,
    ),
    content,
    stream(
      `/F (${canary.file}) /Type /ObjStm /N ${random.pick([1, 1e9])} /First 5`,
      Buffer.from(`<< /URI (${canary.url}) >>`),
    ),
  ]
  const parts = [Buffer.from('%PDF-1.7\n')]
  for (const [index, object] of objects.entries()) {
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n'))
  }
  const startxref = random.pick([0, 9, 1e9, -1])
  parts.push(
    Buffer.from(`trailer << /Root 1 0 R /Size 6 /Prev ${startxref} >>\nstartxref\n${startxref}\n%%EOF`),
  )
  const whole = Buffer.concat(parts)
  return random.chance(0.3) ? fuzzed(random, whole) : whole
}

function hostileHtml(random: Random, { url, file }: Canary): Buffer {
  const opening = random.pick(openings)
  const references = `<base href="${url}/"><link rel="stylesheet" href="${url}/a.css"><img src="${url}/b"><iframe src="file://${file}"></iframe><script src="${url}/c.js"></script><object data="file://${file}"></object>`
  const entities = `<!DOCTYPE x [<!ENTITY a "${'b'.repeat(100)}"><!ENTITY c "${'&a;'.repeat(100)}"><!ENTITY e SYSTEM "file://${file}">]>${'&c;&e;'.repeat(100)}`
  return Buffer.from(
    random.pick([
      opening.repeat(random.pick([1000, 200_000])),
      `${references}<p>${'text '.repeat(random.integer(1, 1000))}`,
      entities,
      `<div ${'a="b" '.repeat(100_000)}>text`,
      `<p>${'&amp;'.repeat(200_000)}`,
      `<title>${'x'.repeat(2_000_000)}`,
      `${references}<style>${'@import "'.repeat(10_000)}`,
    ]),
  )
}

function hostileSvg({ url, file }: Canary): Buffer {
  return Buffer.from(
    `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e SYSTEM "file://${file}">]><svg xmlns="http://www.w3.org/2000/svg" width="60000" height="60000"><script>fetch("${url}")</script><image href="${url}/a.png"/><image href="file://${file}"/><text>&e;</text></svg>`,
  )
}

/** A ZIP file whose directory lies about sizes, or a gzip file of zeros. */
function archive(random: Random): Buffer {
  const zeros = deflateRawSync(Buffer.alloc(random.pick([1, 16]) * 1024 * 1024))
  if (random.chance(0.3)) return gzipSync(zeros)
  const name = random.pick([
    '../../../etc/passwd',
    '/etc/passwd',
    'word/document.xml',
    'a'.repeat(60_000),
    'C:\\a',
  ])
  const local = Buffer.alloc(30)
  local.write('PK\x03\x04', 0, 'latin1')
  for (let at = 4; at < 26; at += 2) local.writeUInt16LE(random.integer(0, 0xffff), at)
  local.writeUInt16LE(name.length, 26)
  const central = Buffer.alloc(46)
  central.write('PK\x01\x02', 0, 'latin1')
  for (let at = 20; at < 46; at += 2) central.writeUInt16LE(random.integer(0, 0xffff), at)
  const end = Buffer.alloc(22, 0xff)
  end.write('PK\x05\x06', 0, 'latin1')
  return Buffer.concat([local, Buffer.from(name), zeros, central, Buffer.from(name), end])
}

function oddText(random: Random): Buffer {
  return random.pick([
    () => Buffer.concat([Buffer.from([0xff, 0xfe]), random.bytes(random.integer(0, 2001))]),
    () => Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.alloc(3001, 0xd8)]),
    () => Buffer.alloc(4 * 1024 * 1024, 'x'),
    () => Buffer.alloc(1024 * 1024, '\u{1f469}\u200d'),
    () => Buffer.from(`${'e\u0301\u0302'.repeat(50_000)}\u202e${'\u0000'.repeat(100)}`),
    () => Buffer.from('" OR NEAR(a b) * : ^ { } \'; DROP TABLE entries; --\n'.repeat(1000)),
    () => Buffer.from(Array.from({ length: 20_000 }, () => random.integer(0, 1e9).toString(36)).join(' ')),
    () => random.bytes(random.integer(1, 20_000)),
    () => Buffer.alloc(0),
  ])()
}
