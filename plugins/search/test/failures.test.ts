import t, { test } from 'tap'
import {
  createSearchNode,
  found,
  pdfOf,
  put,
  send,
  statusOf,
  until,
  untilComplete,
} from './fixtures/search-node.ts'

const node = await createSearchNode({ config: { search: { maxFileSize: 2000 } } })
t.teardown(() => node.stop())

test('contents that cannot be extracted are told by their reasons, and not tried again', async (t) => {
  const ada = await node.signIn()
  const broken = Buffer.from(`%PDF-1.4\n${'garbage '.repeat(20)}`)
  await put(ada, '/broken.pdf', broken)
  await put(ada, '/copy.pdf', broken)
  await put(ada, '/large.txt', 'word '.repeat(500))
  await put(ada, '/good.txt', 'word')
  await untilComplete(ada)
  const status = await statusOf(ada)
  t.strictSame([status.waiting, status.indexed, status.failed], [0, 1, { refused: 2, 'too-large': 1 }])
  t.ok(status.bytes > 0)
  t.strictSame(await found(ada, 'large'), ['/large.txt'], 'it is found by its name')
  t.strictSame(await found(ada, 'word'), ['/good.txt'])
  await put(ada, '/broken.pdf', pdfOf('mended word'))
  await put(ada, '/large.txt', 'short word')
  await until(async () => (await statusOf(ada)).indexed === 3)
  t.strictSame((await statusOf(ada)).failed, { refused: 1 })
  t.equal((await found(ada, 'word')).length, 3)
})

test('a content that is no text has its words once its name tells what it is', async (t) => {
  const ada = await node.signIn()
  const pdf = pdfOf('a toucan')
  await put(ada, '/download', Buffer.concat([pdf, Buffer.alloc(10)]))
  await put(ada, '/notes.pdf', 'a toucan, too')
  await untilComplete(ada)
  t.strictSame(await found(ada, 'toucan'), [])
  await send(ada, 'POST', '/move', { source: '/download', destination: '/invoice.pdf' })
  await send(ada, 'POST', '/move', { source: '/notes.pdf', destination: '/notes.txt' })
  await untilComplete(ada)
  t.strictSame((await found(ada, 'toucan')).sort(), ['/invoice.pdf', '/notes.txt'])
})

test('the owner sees the state of all users', async (t) => {
  const [owner, bob] = [await node.signIn('owner'), await node.signIn()]
  await put(bob, '/a.txt', 'word')
  await untilComplete(bob)
  await untilComplete(owner)
  t.equal((await statusOf(bob)).indexed, 1)
  t.ok((await statusOf(owner)).indexed >= 1)
  const health = (await send(owner, 'GET', '/health')) as { checks?: unknown }
  t.ok(health)
})
