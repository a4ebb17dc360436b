import { once } from 'node:events'
import { type Test, test } from 'tap'
import { fromFixtures, listPlugins, type NodeProcess, signInOwner, startNodeProcess } from './node-process.ts'

async function start(t: Test) {
  const plugins = fromFixtures(['faulty-routes', 'healthy', 'trusting-login'], false)
  const node = await startNodeProcess({ plugins })
  t.teardown(() => node.remove())
  const url = await node.ready
  return { node, url, owner: await signInOwner(url) }
}

async function checkServes(t: Test, node: NodeProcess, url: URL): Promise<void> {
  t.same(await (await fetch(new URL('/healthy', url))).json(), { well: true }, 'the node serves')
  t.equal(node.child.exitCode, null, 'the process lives')
}

test('a thrown error of a route becomes an internal error, and only the log has its cause', async (t) => {
  const { node, url, owner } = await start(t)
  const { ask } = owner
  for (const path of ['throws', 'throws-at-once', 'throws-text', 'throws-nothing', 'answers-wrongly']) {
    const answer = await ask(`/faulty/${path}`)
    const body = await answer.text()
    t.equal(answer.status, 500, path)
    t.match(JSON.parse(body), { error: true, code: 'INTERNAL_ERROR' })
    t.notMatch(body, /swordfish/)
    const id = answer.headers.get('x-request-id')
    const line = await node.logged(({ reqId }) => reqId === id)
    t.match(line, { level: 'error', plugin: 'faulty-routes', path: `/faulty/${path}` })
    if (path !== 'throws-nothing' && path !== 'answers-wrongly')
      t.match(JSON.stringify(line.err), /swordfish/)
    if (path === 'answers-wrongly')
      t.match(line.err, {
        message: /^The answer does not match its schema: "person\.count" must be a whole number/,
      })
  }
  t.equal((await ask('/faulty/conflict')).status, 409)
  t.match(
    (await listPlugins(owner)).get('faulty-routes'),
    { state: 'active' },
    'an error of a route does not degrade the plugin',
  )
  await checkServes(t, node, url)
})

test('an unhandled error of a route degrades the plugin, and its request gets an answer', async (t) => {
  const { node, url, owner } = await start(t)
  const { ask } = owner
  t.equal((await ask('/faulty/leaves-rejection')).status, 200, 'the answer is not affected')
  await node.logged(({ err }) => /left in a route/.test(JSON.stringify(err ?? '')))
  t.match((await listPlugins(owner)).get('faulty-routes'), { state: 'degraded', reason: /left in a route/ })

  t.equal((await ask('/faulty/leaves-nothing')).status, 200)
  await node.logged(
    ({ msg }) => msg === 'An error was left unhandled: undefined was thrown instead of an error.',
  )

  const broken = await ask('/faulty/timer')
  t.equal(broken.status, 500)
  t.match(await broken.json(), { error: true, code: 'INTERNAL_ERROR' })
  await node.logged(({ reqId }) => reqId === broken.headers.get('x-request-id'))
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' }
  t.equal((await ask('/faulty/after-body', json)).status, 500)
  t.equal((await ask('/faulty/foreign-listener')).status, 200)
  await node.logged(({ err }) => /a listener broke/.test(JSON.stringify(err ?? '')))
  const bytes = {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: 'some bytes',
  }
  t.equal((await ask('/faulty/raw-body', bytes)).status, 500)
  t.equal((await fetch(new URL('/health', url))).status, 200)
  await node.logged(({ err }) => /left in a health check/.test(JSON.stringify(err ?? '')))
  await checkServes(t, node, url)
})

test('a thrown value that breaks its inspection becomes an internal error', async (t) => {
  const { node, url, owner } = await start(t)
  for (const odd of ['frozen', 'getters', 'proxy', 'revoked', 'aggregate']) {
    for (const way of ['throw', 'send', 'timer']) {
      const answer = await owner.ask(`/faulty/odd/${way}/${odd}`)
      const body = await answer.text()
      t.equal(answer.status, 500, `${way} ${odd}`)
      t.match(JSON.parse(body), { error: true, code: 'INTERNAL_ERROR' })
      t.notMatch(body, /swordfish/)
      await node.logged(({ reqId }) => reqId === answer.headers.get('x-request-id'))
    }
    t.equal((await owner.ask(`/faulty/odd/reject/${odd}`)).status, 200)
  }
  t.match((await listPlugins(owner)).get('faulty-routes'), { state: 'degraded' })
  await checkServes(t, node, url)
})

test('an answer that fails halfway cuts only its own connection', async (t) => {
  const { node, url, owner } = await start(t)
  const { ask } = owner
  for (const path of ['/faulty/half', '/faulty/half-by-hand']) {
    const [half, other] = await Promise.all([ask(path), ask('/faulty/well')])
    t.equal(half.status, 200)
    await t.rejects(half.text(), { message: 'terminated' }, `${path} is visibly incomplete`)
    t.same(await other.json(), { well: true })
  }
  await checkServes(t, node, url)
})

test('an unhandled error of a WebSocket cuts at most its own connection', async (t) => {
  const { node, url, owner } = await start(t)
  const connect = async () => {
    const socket = new WebSocket(new URL('/faulty/socket', url), {
      headers: { authorization: `Bearer ${owner.token}` },
    } as never)
    await once(socket, 'open')
    return socket
  }
  const [one, other] = [await connect(), await connect()]
  const answerTo = async (socket: WebSocket, message: string) => {
    const answer = once(socket, 'message')
    socket.send(message)
    return ((await answer)[0] as MessageEvent).data
  }
  t.equal(await answerTo(one, 'reject'), 'heard reject')
  await node.logged(({ err }) => /rejected in a message/.test(JSON.stringify(err ?? '')))
  const closed = once(one, 'close')
  one.send('throw')
  t.equal(((await closed)[0] as CloseEvent).code, 1006)
  t.equal(await answerTo(other, 'hello'), 'heard hello')
  t.match((await listPlugins(owner)).get('faulty-routes'), { state: 'degraded' })
  await checkServes(t, node, url)
  other.close()
})
