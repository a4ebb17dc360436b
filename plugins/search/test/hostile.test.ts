import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'tap'
import { createSearchNode, found, pdfOf, put, statusOf, untilComplete } from './fixtures/search-node.ts'

/** Fuzzed files, unless the environment sets another number. */
const count = Number(process.env.TEST_RUNS ?? 60)

test('hostile files end in failures, and the node answers meanwhile', async (t) => {
  const node = await createSearchNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const pdf = Buffer.from(pdfOf('a word', 'another word'))
  const html = Buffer.from('<html><body><p>a word</p><script>x</script>&amp;</body></html>')
  const fuzzed = fc.sample(
    fc.tuple(
      fc.constantFrom(['pdf', pdf] as const, ['html', html] as const, ['txt', html] as const),
      fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { minLength: 1, maxLength: 20 }),
      fc.nat(2000),
    ),
    count,
  )
  for (const [number, [[extension, whole], changes, cut]] of fuzzed.entries()) {
    const content = Buffer.from(whole)
    for (const [at, byte] of changes) content[at % content.length] = byte
    await put(ada, `/${number}.${extension}`, content.subarray(0, content.length - (cut % content.length)))
  }
  await put(ada, '/bomb.pdf', pdfBomb())
  await put(ada, '/loop.pdf', Buffer.from(String(pdf).replace('/Kids[4 0 R 6 0 R]', '/Kids[2 0 R 2 0 R]')))
  await put(ada, '/deep.html', Buffer.from('<div><p><b>'.repeat(20_000)))
  await put(ada, '/entities.html', Buffer.from('&amp;&#x0;&#99999999;'.repeat(100_000)))
  await put(ada, '/polyglot.pdf', Buffer.concat([Buffer.from('<html><p>word'), pdf]))
  await put(ada, '/random.txt', randomBytes(100_000))
  await put(ada, '/one-word.txt', Buffer.alloc(3_000_000, 'a'))
  await put(ada, '/lines.txt', Buffer.alloc(3_000_000, '\n'))
  await put(ada, '/picture.svg', Buffer.from('<svg><script>word</script></svg>'))
  // A regular expression takes stack for each character of a word.
  await put(ada, '/no-spaces.txt', `flamingo ${'東'.repeat(4_000_000)}`)
  await put(ada, '/good.txt', 'flamingo')
  t.equal((await node.fetch('/health')).status, 200)
  await untilComplete(ada)
  t.strictSame((await found(ada, 'flamingo')).sort(), ['/good.txt', '/no-spaces.txt'])
  const { waiting, failed } = await statusOf(ada)
  t.equal(waiting, 0)
  t.notOk(failed.unreadable)
  t.equal((await node.fetch('/health')).status, 200)
})

/** A PDF whose page has 10 MB of text, which are compressed. */
function pdfBomb(): Uint8Array<ArrayBuffer> {
  const content = deflateSync(Buffer.from(`BT /F1 12 Tf ${'(bomb) Tj '.repeat(1_000_000)} ET`))
  const parts = [
    '%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[4 0 R]/Count 1>>\nendobj\n',
    '3 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n',
    '4 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F1 3 0 R>>>>/Contents 5 0 R>>\nendobj\n',
    `5 0 obj\n<</Filter/FlateDecode/Length ${content.length}>>stream\n`,
    content,
    '\nendstream\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
  ]
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)))
}
