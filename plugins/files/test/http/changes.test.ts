import { cp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { openJournal } from '../../src/journal/journal.ts'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, journalOf, post, put, upload } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

interface Page {
  readonly reset?: true
  readonly changes?: readonly { readonly op: string; readonly path: string }[]
  readonly cursor: string
  readonly stalled?: { readonly mount: string; readonly since: string }
}

const path = '/api/files/changes'

async function page(user: TestUser, query = ''): Promise<Page> {
  const answer = await user.fetch(`${path}${query}`)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Page
}

/** Like a user, with another token or on another node. */
const bearer = (user: TestUser, node: TestNode, token: string): TestUser => ({
  ...user,
  token,
  fetch: (of, init = {}) =>
    node.fetch(of, { ...init, headers: { ...(init.headers as object), authorization: `Bearer ${token}` } }),
})

const pathsOf = ({ changes }: Page) => changes?.map((change) => change.path)

interface Event {
  readonly id?: string
  readonly event?: string
  readonly data: Page
}

/** Opens a stream and reads its events one by one, as a browser does. */
async function follow(user: TestUser, query = '', headers: Record<string, string> = {}) {
  const ended = new AbortController()
  const answer = await user.fetch(`${path}${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: ended.signal,
  })
  const chunks = answer.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let text = ''
  /** The next event; null at the end of the stream. */
  const next = async (): Promise<Event | null> => {
    for (;;) {
      const end = text.indexOf('\n\n')
      if (end !== -1) {
        const lines = text.slice(0, end).split('\n')
        text = text.slice(end + 2)
        const fields = Object.fromEntries(
          lines.map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
        )
        if (fields.data !== undefined) return { ...fields, data: JSON.parse(fields.data) }
        continue
      }
      const step = await chunks?.next()
      if (step === undefined || step.done) return null
      text += step.value
    }
  }
  return { answer, next, leave: () => ended.abort() }
}

async function createNode(t: Test, mounts = {}) {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode({ mounts }, { plugins: [services.plugin, shaky.plugin] })
  t.teardown(() => node.stop())
  return { node, services, shaky, ada: await node.signIn() }
}

t.test('a client lists the changes after a cursor, page by page', async (t) => {
  const { ada, node } = await createNode(t)
  await put(ada, '/before', 'x')
  const start = await page(ada)
  t.strictSame(
    start,
    { changes: [], cursor: start.cursor },
    'without a cursor, it begins at the newest change',
  )
  const etag = (await put(ada, '/a', 'four', { 'x-nodekeep-device': 'laptop' })).headers.get('etag')
  await post(ada, 'mkdir', { path: '/b' })
  await post(ada, 'move', { source: '/a', destination: '/b/a' })
  await post(ada, 'delete', { path: '/b' })
  const all = await page(ada, `?after=${start.cursor}`)
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
  t.match(all.changes, [
    { op: 'write', path: '/a', size: 4, revision: etag?.slice(1, -1), by: 'laptop', at: isTime },
    { op: 'mkdir', path: '/b' },
    { op: 'move', path: '/b/a', source: '/a' },
    { op: 'delete', path: '/b' },
  ])
  t.notOk(all.changes?.some((change) => 'seq' in change))
  const seen = []
  for (
    let next = await page(ada, `?after=${start.cursor}&limit=3`);
    ;
    next = await page(ada, `?after=${next.cursor}&limit=3`)
  ) {
    if (next.changes?.length === 0) break
    seen.push(...(next.changes ?? []))
  }
  t.strictSame(seen, all.changes)
  const grace = await node.signIn()
  t.strictSame((await page(grace)).changes, [], 'nobody sees the changes of others')
})

t.test('each change names its session or API token by an id that outlives it, and its group', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const ada = await first.signIn()
  const { user } = ada
  const created = await ada.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'backup script', scopes: ['files:read', 'files:write'] }),
  })
  const { token, details } = (await created.json()) as { token: string; details: { id: string } }
  const { sessions } = (await (await ada.fetch('/api/account/sessions')).json()) as {
    sessions: { id: string; label: string }[]
  }
  const script = bearer(ada, first, token)
  const { cursor } = await page(ada)
  const group = { 'x-nodekeep-group': 'run-1.a_B' }
  const written = (await put(ada, '/a', 'x')).headers.get('x-nodekeep-undo')
  const named = (await upload(ada, '/b', 'x', group)).headers.get('x-nodekeep-undo')
  await post(script, 'mkdir', { path: '/d' }, { ...group, 'x-nodekeep-device': 'laptop' })
  await post(script, 'move', { source: '/a', destination: '/d/a' }, group)
  const removed = (await post(ada, 'delete', { path: '/b' })).headers.get('x-nodekeep-undo')
  const session = { kind: 'session', id: sessions[0]?.id, name: sessions[0]?.label, user: user.uuid }
  const byToken = { kind: 'token', id: details.id, name: 'backup script', user: user.uuid }
  const run = 'run-1.a_B'
  const expected = [
    { op: 'write', path: '/a', maker: session, group: written },
    { op: 'write', path: '/b', maker: session, group: run },
    { op: 'mkdir', path: '/d', by: 'laptop', maker: byToken, group: run },
    { op: 'move', path: '/d/a', source: '/a', maker: byToken, group: run },
    { op: 'delete', path: '/b', maker: session, group: removed },
  ]
  t.equal(named, run)
  t.match(written, /^[\w-]{20}$/, 'a request without a group has one of its own')
  t.not(written, removed)
  const facts = ({ changes = [] }: Pick<Page, 'changes'>) =>
    changes.map((change) => {
      const { size, revision, at, ...rest } = change as Record<string, unknown>
      return rest
    })
  t.strictSame(facts(await page(ada, `?after=${cursor}`)), expected)

  for (const wrong of ['', 'x'.repeat(65), 'two words', '../a', 'a, b']) {
    const headers = { 'x-nodekeep-group': wrong }
    const answers = [
      await put(ada, '/refused', 'x', headers),
      await upload(ada, '/refused', 'x', headers),
      await post(ada, 'mkdir', { path: '/refused' }, headers),
      await post(ada, 'delete', { path: '/d' }, headers),
      await post(ada, 'move', { source: '/d', destination: '/refused' }, headers),
      await post(ada, 'api/files/copy', { source: '/d', destination: '/refused' }, headers),
    ]
    for (const answer of answers)
      t.match([answer.status, await answer.json()], [400, { code: 'VALIDATION_ERROR' }], wrong)
  }

  await ada.fetch(`/api/account/tokens/${details.id}`, { method: 'DELETE' })
  await first.stop()
  const second = await createFilesNode({}, { dataFolder })
  t.teardown(() => second.stop())
  const again = bearer(ada, second, ada.token)
  t.strictSame(facts(await page(again, `?after=${cursor}`)), expected, 'after the token has ended, too')
  const newest = async (query: string) =>
    facts((await (await again.fetch(`${path}/newest${query}`)).json()) as Page)
  t.strictSame(await newest(''), expected.toReversed())
  t.strictSame(await newest('?limit=2'), expected.toReversed().slice(0, 2))
  t.strictSame(await newest('?path=/d'), [expected[3], expected[2]], 'of a folder, with what is in it')
  t.strictSame(await newest('?path=/a'), [expected[3], expected[0]], 'of a former path, too')
  t.strictSame(await newest('?path=/none'), [])
  t.equal((await again.fetch(`${path}/newest?path=../a`)).status, 400)
  await post(again, 'api/files/copy', { source: '/d', destination: '/e' }, group)
  const copied = [
    { op: 'mkdir', path: '/e', maker: session, group: run },
    { op: 'write', path: '/e/a', maker: session, group: run },
  ]
  t.strictSame(await newest('?path=/e'), copied.toReversed(), 'a copy of a folder')
  const grace = await second.signIn()
  t.strictSame(
    facts((await (await grace.fetch(`${path}/newest`)).json()) as Page),
    [],
    'nobody sees those of others',
  )
})

t.test('a poll waits for a change', async (t) => {
  const { ada, node } = await createNode(t)
  const { cursor } = await page(ada)
  const grace = await node.signIn()
  let isAnswered = false
  const poll = page(ada, `?after=${cursor}&wait=50`).finally(() => {
    isAnswered = true
  })
  await put(grace, '/other', 'x')
  t.notOk(isAnswered, 'changes of others wake nobody')
  await put(ada, '/a', 'x')
  const answer = await poll
  t.strictSame(pathsOf(answer), ['/a'])
  t.strictSame(
    pathsOf(await page(ada, `?after=${cursor}&wait=50`)),
    ['/a'],
    'it does not wait for what is there',
  )
  t.strictSame(await page(ada, `?after=${answer.cursor}&wait=1`), { changes: [], cursor: answer.cursor })
})

t.test('no change is missed between polls and in streams while many are made', async (t) => {
  const { ada } = await createNode(t)
  const { cursor } = await page(ada)
  const stream = await follow(ada, `?after=${cursor}`)
  const names = Array.from({ length: 60 }, (_, index) => `/file-${index}`)
  const writing = Promise.all(names.map((name) => put(ada, name, 'x')))
  const polled: string[] = []
  for (let at = cursor; polled.length < names.length; ) {
    const next = await page(ada, `?after=${at}&wait=50&limit=7`)
    polled.push(...(pathsOf(next) ?? []))
    at = next.cursor
  }
  await writing
  const streamed: string[] = []
  while (streamed.length < names.length)
    streamed.push(...(pathsOf((await stream.next())?.data as Page) ?? []))
  stream.leave()
  t.strictSame(polled.toSorted(), names.toSorted())
  t.strictSame(streamed, polled, 'in the same order')
})

t.test('a stream sends changes with cursors, and goes on after the last one that was received', async (t) => {
  const { ada } = await createNode(t)
  await put(ada, '/before', 'x')
  const stream = await follow(ada)
  t.equal(stream.answer.status, 200)
  t.match(stream.answer.headers.get('content-type'), 'text/event-stream')
  t.equal(stream.answer.headers.get('vary'), 'accept')
  const first = await stream.next()
  t.strictSame(first?.data.changes, [])
  t.equal(first?.id, first?.data.cursor)
  await put(ada, '/a', 'x')
  const second = await stream.next()
  t.strictSame(pathsOf(second?.data as Page), ['/a'])
  stream.leave()
  await put(ada, '/b', 'x')
  const again = await follow(ada, `?after=${first?.id}`, { 'last-event-id': second?.id ?? '' })
  t.strictSame(pathsOf((await again.next())?.data as Page), ['/b'], 'the header is newer than the query')
  again.leave()
})

t.test('a cursor of another epoch, or one that is too old, is answered with a reset', async (t) => {
  const dataFolder = t.testdir()
  const first = await createFilesNode({}, { dataFolder })
  const ada = await first.signIn()
  await put(ada, '/a', 'x')
  const old = (await page(ada)).cursor
  await first.stop()
  const journal = await openJournal(journalOf(dataFolder))
  await journal.renew()
  await journal.close()

  const second = await createFilesNode({}, { dataFolder })
  t.teardown(() => second.stop())
  const user = bearer(ada, second, ada.token)
  const reset = await page(user, `?after=${old}&wait=50`)
  t.strictSame(reset, { reset: true, cursor: reset.cursor })
  t.not(reset.cursor, old)
  const stream = await follow(user, '', { 'last-event-id': old })
  const event = await stream.next()
  t.match(event, { event: 'reset', id: event?.data.cursor, data: { reset: true } })
  await put(user, '/b', 'x')
  t.match(
    await stream.next(),
    { event: undefined, data: { changes: [{ path: '/b' }] } },
    'the stream goes on',
  )
  stream.leave()
  t.strictSame(pathsOf(await page(user, `?after=${reset.cursor}`)), ['/b'])
  const ahead = Buffer.from(
    Buffer.from(reset.cursor, 'base64url').toString().replace(/ \d+ /, ' 999999 '),
  ).toString('base64url')
  t.match(await page(user, `?after=${ahead}`), { reset: true }, 'a number that the journal has not given yet')
  await second.stop()
})

t.test(
  'a cursor of changes that are gone, because the data folder was put back, is answered with a reset',
  async (t) => {
    const [dataFolder, kept] = [join(t.testdir(), 'data'), join(t.testdir(), 'kept')]
    const start = () => createFilesNode({}, { dataFolder })
    const first = await start()
    const ada = await first.signIn('owner')
    await put(ada, '/a', 'x')
    await first.stop()
    await cp(dataFolder, kept, { recursive: true, preserveTimestamps: true })

    const second = await start()
    const later = await second.signIn('owner')
    const { cursor: common } = await page(later)
    await put(later, '/gone', 'x')
    const { cursor } = await page(later)
    await second.stop()
    await rm(dataFolder, { recursive: true })
    await rename(kept, dataFolder)

    const third = await start()
    t.teardown(() => third.stop())
    const again = await third.signIn('owner')
    for (const name of ['/one', '/two', '/three']) await put(again, name, 'x')
    const reset = await page(again, `?after=${cursor}`)
    t.strictSame(reset, { reset: true, cursor: reset.cursor }, 'the number is that of another change now')
    const [epoch, seq] = Buffer.from(cursor, 'base64url').toString().split(' ')
    const former = Buffer.from(`${epoch} ${seq}`).toString('base64url')
    t.match(await page(again, `?after=${former}`), { reset: true }, 'a former release told no ids')
    t.match(pathsOf(await page(again, `?after=${common}`)), ['/one', '/two', '/three'], 'this one is in both')
  },
)

t.test('wrong input is refused', async (t) => {
  const { ada } = await createNode(t)
  for (const query of [
    '?after=',
    '?after=nonsense',
    '?after=%00',
    `?after=${'A'.repeat(201)}`,
    '?wait=-1',
    '?wait=51',
    '?wait=soon',
    '?limit=0',
    '?limit=1001',
    '?limit=1.5',
  ]) {
    for (const accept of ['application/json', 'text/event-stream']) {
      const answer = await ada.fetch(path + query, { headers: { accept } })
      t.equal(answer.status, 400, query)
      t.match(await answer.json(), { error: true, code: 'VALIDATION_ERROR' })
    }
  }
  const headers = { accept: 'text/event-stream', 'last-event-id': 'nonsense' }
  t.equal((await ada.fetch(path, { headers })).status, 400)
})

t.test('a user has a limited number of waiting requests, and those that end make room', async (t) => {
  const { ada, node } = await createNode(t)
  const { cursor } = await page(ada)
  const streams = await Promise.all(Array.from({ length: 31 }, () => follow(ada)))
  for (const stream of streams) await stream.next()
  const poll = page(ada, `?after=${cursor}&wait=50`)
  const refused = async (user: TestUser, headers: Record<string, string>) => {
    const answer = await user.fetch(`${path}?after=${cursor}&wait=1`, { headers })
    const { status } = answer
    const body = (await answer.json()) as object
    t.match([status, body], [429, { code: 'TOO_MANY_REQUESTS', message: /32 requests/ }])
    t.ok(Number(answer.headers.get('retry-after')) > 0)
  }
  // The poll is on its way; a refusal shows that it waits.
  for (;;) {
    const answer = await ada.fetch(`${path}?after=${cursor}&wait=1`)
    await answer.body?.cancel()
    if (answer.status === 429) break
  }
  await refused(ada, {})
  await refused(ada, { accept: 'text/event-stream' })
  t.equal((await ada.fetch(path)).status, 200, 'a request that does not wait is answered')
  const grace = await node.signIn()
  const other = await follow(grace)
  t.equal(other.answer.status, 200, 'the limit is that of one user')
  other.leave()
  await put(ada, '/a', 'x')
  t.strictSame(pathsOf(await poll), ['/a'])
  for (const stream of streams) stream.leave()
  for (;;) {
    const stream = await follow(ada)
    stream.leave()
    if (stream.answer.status === 200) break
    await delay(10)
  }
})

t.test('waiting requests end with a session of their user, and with the node', async (t) => {
  const { ada, node } = await createNode(t)
  const grace = await node.signIn()
  const { cursor } = await page(ada)
  const [stream, other] = [await follow(ada), await follow(grace)]
  for (const each of [stream, other]) await each.next()
  const poll = page(ada, `?after=${cursor}&wait=50`)
  t.equal((await ada.fetch('/auth/logout', { method: 'POST' })).status, 200)
  t.equal(await stream.next(), null)
  // It ends long before its wait is over. If it came after the session had ended, it was refused.
  t.strictSame(await poll.catch((error) => JSON.parse(error.message).code), { changes: [], cursor })
  t.equal((await ada.fetch(path)).status, 401)
  await put(grace, '/a', 'x')
  t.match(await other.next(), { data: { changes: [{ path: '/a' }] } }, 'others go on')
  const stopping = node.stop()
  t.equal(await other.next(), null)
  await stopping
})

t.test('readers learn which mount holds changes back, and see them when it answers', async (t) => {
  const { ada, shaky } = await createNode(t, { '/cold': 'shaky' })
  const { cursor } = await page(ada)
  shaky.afterChange = () => {
    shaky.isReachable = false
    throw new Error('The connection broke.')
  }
  t.not((await put(ada, '/cold/a', 'x')).status, 200)
  shaky.afterChange = () => {}
  await put(ada, '/b', 'x')
  t.match(await page(ada, `?after=${cursor}`), { changes: [], stalled: { mount: '/cold', since: String } })
  const stream = await follow(ada, `?after=${cursor}`)
  t.match(await stream.next(), { data: { changes: [], stalled: { mount: '/cold' } } })
  shaky.isReachable = true
  await put(ada, '/cold/a', 'y')
  const seen: string[] = []
  while (seen.length < 3) seen.push(...(pathsOf((await stream.next())?.data as Page) ?? []))
  t.strictSame(seen, ['/cold/a', '/b', '/cold/a'])
  t.equal((await page(ada, `?after=${cursor}`)).stalled, undefined)
  stream.leave()
})
