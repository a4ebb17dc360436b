import t, { test } from 'tap'
import { gifBomb, pngBomb } from './fixtures/bombs.ts'
import {
  createPreviewNode,
  fixture,
  preview,
  put,
  refusalOf,
  statusOf,
  varied,
} from './fixtures/preview-node.ts'

const lines: string[] = []
const node = await createPreviewNode({
  config: { previews: { background: false, maxFileSize: 1024 ** 2 } },
  onLog: (line) => lines.push(line),
})
t.teardown(() => node.stop())

const pictures = ['jpeg.jpg', 'png.png', 'webp.webp', 'gif.gif', 'avif.avif']

test('a picture of 60,000 by 60,000 pixels has no preview', async (t) => {
  const ada = await node.signIn()
  const jpeg = Buffer.from(fixture('jpeg.jpg'))
  const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]))
  jpeg.writeUInt16BE(60_000, frame + 5)
  jpeg.writeUInt16BE(60_000, frame + 7)
  const bombs = { png: pngBomb(60_000, 60_000), gif: gifBomb(60_000, 60_000), jpeg }
  for (const [name, bomb] of Object.entries(bombs)) {
    await put(ada, `/${name}`, bomb)
    t.match(await refusalOf(ada, `/${name}`), /^422 .* too many pixels \(previews\.maxPixels\)/, name)
  }
})

test('a file that is not whole has no preview', async (t) => {
  const ada = await node.signIn()
  for (const name of [...pictures, 'mp3.mp3', 'flac.flac', 'm4a.m4a']) {
    const content = fixture(name)
    for (const part of [0.02, 0.5]) {
      const path = `/${part} of ${name}`
      await put(ada, path, content.subarray(0, Math.max(16, Math.floor(content.length * part))))
      t.match(await refusalOf(ada, path), /^422 There is no preview of this file\. /, path)
    }
  }
})

test('a content that failed is not tried again, and files with changed bytes do no harm', async (t) => {
  const owner = await node.signIn('owner')
  const broken = pngBomb(100, 100)
  await put(owner, '/a.png', broken)
  await put(owner, '/b.png', broken)
  lines.length = 0
  for (const path of ['/a.png', '/b.png', '/a.png'])
    t.match(await refusalOf(owner, path), /damaged, or not whole/, path)
  t.equal(lines.filter((line) => line.includes('A file has no preview.')).length, 1)
  t.match(await statusOf(owner), { failed: { broken: Number, pixels: 3 } })

  // Each position is another one in each run of the test, but the same for a seed.
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.comment(`seed ${seed}`)
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state % below
  }
  for (let round = 0; round < 40; round += 1) {
    const content = Buffer.from(fixture(pictures[round % pictures.length] ?? ''))
    for (let change = 0; change < 1 + random(20); change += 1) content[random(content.length)] = random(256)
    await put(owner, '/fuzzed', content)
    const answer = await preview(owner, '/fuzzed')
    t.ok([200, 422].includes(answer.status), `round ${round}: ${answer.status}`)
    await answer.arrayBuffer()
  }
  t.equal((await node.fetch('/health')).status, 200)
})

test('a picture that is also a page has the preview of the picture', async (t) => {
  const ada = await node.signIn()
  const page = '<script>alert(1)</script>'
  await put(ada, '/a.html', Buffer.concat([fixture('jpeg.jpg'), Buffer.from(page)]))
  const answer = await preview(ada, '/a.html', 'large')
  t.equal(answer.headers.get('content-type'), 'image/webp')
  t.notOk(Buffer.from(await answer.arrayBuffer()).includes('script'))
  t.equal(lines.filter((line) => line.includes('alert')).length, 0)
})

test('a file beyond the limit has no preview', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/large.jpg', Buffer.concat([fixture('jpeg.jpg'), Buffer.alloc(1024 ** 2)]))
  t.match(await refusalOf(ada, '/large.jpg'), /^422 .* too large \(previews\.maxFileSize\)/)
  await put(ada, '/small.jpg', varied(fixture('jpeg.jpg')))
  t.ok((await preview(ada, '/small.jpg')).ok)
})
