// In a process of its own: the library that makes the pictures keeps threads.
import { unzipSync } from 'fflate'
import sharp from 'sharp'
import t, { test } from 'tap'
import { createShareNode, link, put, send } from '../fixtures/share-node.ts'
import { exifBlock, secret, segment } from '../pictures/fixtures/camera-data.ts'

const node = await createShareNode({ config: { plugins: { previews: true } } })
t.teardown(() => node.stop())
const ada = await node.signIn()

const plain = await sharp({ create: { width: 640, height: 400, channels: 3, background: '#345' } })
  .jpeg()
  .toBuffer()
const exif = segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), exifBlock(6, true)]))
const photo = Buffer.concat([plain.subarray(0, 2), exif, plain.subarray(2), Buffer.from(secret)])

await put(ada, '/photos/photo.jpg', photo)
await put(ada, '/photos/notes.txt', photo)
await put(ada, '/photos/half.jpg', photo.subarray(0, photo.length / 2))
await put(ada, '/photos/drawing.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>')

const get = (address: string, headers: Record<string, string> = {}) => node.fetch(address, { headers })
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

test('a picture leaves without place and camera, also in parts and in an archive', async (t) => {
  const { path, id } = await link(ada, '/photos')
  const answer = await get(`${path}/file?path=/photo.jpg`)
  const cleaned = await bytesOf(answer)
  t.notOk(cleaned.includes(secret))
  t.equal(answer.headers.get('content-length'), `${cleaned.length}`)
  const [was, is] = await Promise.all([photo, cleaned].map((bytes) => sharp(bytes).raw().toBuffer()))
  t.ok(was?.equals(is ?? Buffer.alloc(0)), 'the pixels are equal')
  t.equal((await sharp(cleaned).metadata()).orientation, 6)
  const etag = answer.headers.get('etag') ?? ''
  const parts: Buffer[] = []
  for (let start = 0; start < cleaned.length; start += 1000) {
    const end = Math.min(start + 999, cleaned.length - 1)
    const part = await get(`${path}/file?path=/photo.jpg`, {
      range: `bytes=${start}-${end}`,
      'if-range': etag,
    })
    t.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${cleaned.length}`)
    parts.push(await bytesOf(part))
  }
  t.ok(Buffer.concat(parts).equals(cleaned))
  t.notOk(
    (await bytesOf(await get(`${path}/file?path=/notes.txt`))).includes(secret),
    'its name does not matter',
  )
  const files = unzipSync(new Uint8Array(await bytesOf(await get(`${path}/zip`))))
  t.ok(Buffer.from(files['photos/photo.jpg'] ?? '').equals(cleaned))
  t.ok(Buffer.from(files['photos/notes.txt'] ?? '').equals(cleaned))
  t.strictSame(Object.keys(files).sort(), [
    'photos/Left out.txt',
    'photos/drawing.svg',
    'photos/notes.txt',
    'photos/photo.jpg',
  ])

  await send(ada, 'PATCH', `/api/shares/${id}`, { keepMetadata: true })
  const whole = await get(`${path}/file?path=/photo.jpg`, { 'if-none-match': etag })
  t.equal(whole.status, 200, 'another tag')
  t.ok((await bytesOf(whole)).equals(photo))
})

test('a damaged picture does not leave, and the page says why', async (t) => {
  const { path } = await link(ada, '/photos')
  const refused = await get(`${path}/file?path=/half.jpg`)
  t.equal(refused.status, 422)
  t.match(await refused.text(), 'The picture is damaged or not whole')
})

test('a maker learns before whether guests would get a picture', async (t) => {
  await put(ada, '/phone/IMG_1.HEIC', '\0\0\0\x18ftypheic\0\0\0\0mif1heic')
  await put(ada, '/phone/IMG_2.JPG', photo)
  await put(ada, '/texts/a/b.jpg', photo)
  const told = async (path: string) => {
    const answer = await ada.fetch(`/api/shares/picture?path=${path}`)
    return ((await answer.json()) as { picture?: object }).picture ?? answer.status
  }
  const outcomes = {
    '/photos/photo.jpg': { path: '/photos/photo.jpg', refused: null },
    '/photos/notes.txt': { path: '/photos/notes.txt', refused: null },
    '/photos/half.jpg': { path: '/photos/half.jpg', refused: 'broken' },
    '/photos': { path: '/photos/half.jpg', refused: 'broken' },
    '/phone': { path: '/phone/IMG_1.HEIC', refused: 'format' },
    '/photos/drawing.svg': 200,
    '/texts': 200,
    '/': 200,
    '/none': 404,
  }
  for (const [path, outcome] of Object.entries(outcomes)) t.strictSame(await told(path), outcome, path)
  const others = await (await node.signIn()).fetch('/api/shares/picture?path=/photos/photo.jpg')
  t.equal(others.status, 404, 'of their own files only')
  t.equal((await node.fetch('/api/shares/picture?path=/photos')).status, 401)
})

test('a grid shows previews, which have no data of cameras', async (t) => {
  const { path } = await link(ada, '/photos')
  t.match(
    await (await get(`${path}?view=grid`)).text(),
    `<img src="${path}/preview?path=%2Fphoto.jpg&amp;size=small"`,
  )
  const answer = await get(`${path}/preview?path=/photo.jpg`)
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'image/webp',
    'content-security-policy': /sandbox/,
    'cache-control': 'private, no-cache',
  })
  const preview = await bytesOf(answer)
  t.notOk(preview.includes(secret))
  t.match(await sharp(preview).metadata(), { width: 160, height: 256 })
  const etag = answer.headers.get('etag') ?? ''
  t.equal((await get(`${path}/preview?path=/photo.jpg`, { 'if-none-match': etag })).status, 304)
  t.equal((await get(`${path}/preview?path=/none.jpg`)).status, 404)
  t.equal((await get(`${path}/preview?path=/../photos/photo.jpg`)).status, 404)
  t.equal((await get(`${path}/preview?path=/drawing.svg`)).status, 422)
})
