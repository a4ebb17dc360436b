import t, { test } from 'tap'
import {
  createPreviewNode,
  fixture,
  preview,
  put,
  refusalOf,
  sidesOf,
  varied,
} from '../fixtures/preview-node.ts'

t.jobs = 3

const node = await createPreviewNode()
t.teardown(() => node.stop())

test('pictures of each format have previews in three sizes', async (t) => {
  const ada = await node.signIn()
  const formats = ['jpeg.jpg', 'png.png', 'webp.webp', 'gif.gif', 'avif.avif']
  for (const name of formats) {
    await put(ada, `/${name}`, fixture(name))
    const [width, height] = await sidesOf(ada, `/${name}`)
    t.equal(Math.max(width, height), 256, `${name}: the longest side`)
  }
  // It is stored on its side: 1,000 × 750.
  await put(ada, '/photo.jpg', fixture('photo.jpg'))
  t.strictSame(await sidesOf(ada, '/photo.jpg', 'small'), [192, 256])
  t.strictSame(await sidesOf(ada, '/photo.jpg', 'medium'), [576, 768])
  t.strictSame(await sidesOf(ada, '/photo.jpg', 'large'), [750, 1000], 'it is not enlarged')
})

test('audio files have the preview of their cover', async (t) => {
  const ada = await node.signIn()
  for (const name of ['mp3.mp3', 'flac.flac', 'm4a.m4a', 'ogg.ogg']) {
    await put(ada, `/${name}`, fixture(name))
    t.strictSame(await sidesOf(ada, `/${name}`), [256, 256], name)
  }
  await put(ada, '/plain.flac', fixture('plain.flac'))
  t.equal(
    await refusalOf(ada, '/plain.flac'),
    '422 There is no preview of this file. The file has no cover picture.',
  )
})

test('the content decides, and not the name', async (t) => {
  const ada = await node.signIn()
  await put(ada, '/picture.txt', fixture('jpeg.jpg'))
  t.ok((await preview(ada, '/picture.txt')).ok)
  const unknown = /^422 .* No decoder of this node knows its format/
  const others = {
    svg: '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10"/></svg>',
    pdf: '%PDF-1.7\n',
    tiff: 'II*\0\x08\0\0\0\0\0',
    text: 'Hello.',
    empty: '',
  }
  for (const [name, content] of Object.entries(others)) {
    await put(ada, `/${name}.png`, Buffer.from(content, 'latin1'))
    t.match(await refusalOf(ada, `/${name}.png`), unknown, name)
  }
})

test('a preview is for its user alone, with a scope', async (t) => {
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/a.jpg', varied(fixture('jpeg.jpg')))
  t.equal((await preview(bob, '/a.jpg')).status, 404)
  t.equal((await node.fetch('/api/previews?path=/a.jpg')).status, 401)
  t.equal((await preview(ada, '/none.jpg')).status, 404)
  t.equal((await preview(ada, '/../a.jpg')).status, 400)
  t.equal((await preview(ada, '/a.jpg', 'huge')).status, 400)
  t.match(await refusalOf(ada, '/'), /^422 .* It is a folder/)
})

test('the answer is a picture that no page can run, with a tag of its content', async (t) => {
  const ada = await node.signIn()
  const content = varied(fixture('jpeg.jpg'))
  await put(ada, '/a.jpg', content)
  const answer = await preview(ada, '/a.jpg')
  t.match(Object.fromEntries(answer.headers), {
    'content-type': 'image/webp',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /sandbox/,
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'private, no-cache',
    etag: /^"[0-9a-f]{32}-small"$/,
  })
  const etag = answer.headers.get('etag') ?? ''
  const unchanged = await preview(ada, '/a.jpg', 'small', { headers: { 'if-none-match': etag } })
  t.equal(unchanged.status, 304)
  t.equal(unchanged.headers.get('etag'), etag)
  t.equal((await preview(ada, '/a.jpg', 'medium', { headers: { 'if-none-match': etag } })).status, 200)
  const head = await preview(ada, '/a.jpg', 'small', { method: 'HEAD' })
  t.equal(head.headers.get('content-length'), `${(await answer.arrayBuffer()).byteLength}`)
  t.equal((await preview(ada, '/a.jpg', 'small', { headers: { 'sec-fetch-dest': 'script' } })).status, 403)

  await put(ada, '/b.jpg', content)
  t.equal((await preview(ada, '/b.jpg')).headers.get('etag'), etag, 'the content names it')
  await put(ada, '/a.jpg', varied(fixture('png.png')))
  const changed = await preview(ada, '/a.jpg', 'small', { headers: { 'if-none-match': etag } })
  t.equal(changed.status, 200, 'another content')
})

test('many requests at a time get their previews', async (t) => {
  const ada = await node.signIn()
  const paths = Array.from({ length: 12 }, (_, at) => `/${at}.jpg`)
  for (const path of paths) await put(ada, path, varied(fixture('jpeg.jpg')))
  const answers = await Promise.all([...paths, ...paths].map((path) => preview(ada, path)))
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  await Promise.all(answers.map((answer) => answer.arrayBuffer()))
})

test('a client that leaves takes no preview from others', async (t) => {
  const ada = await node.signIn()
  for (const path of ['/a.jpg', '/b.jpg']) await put(ada, path, varied(fixture('jpeg.jpg')))
  const client = new AbortController()
  const left = preview(ada, '/a.jpg', 'small', { signal: client.signal })
  const stays = preview(ada, '/b.jpg')
  client.abort()
  await t.rejects(left)
  t.ok((await stays).ok)
  t.ok((await preview(ada, '/a.jpg')).ok)
})
