import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, NodekeepError, Secret, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const config = { access: 'public', publicReason: 'It is there for a test.' } as const

/** The reference by which a file takes a value from the environment. */
const reference = ['$', '{CARELESS_KEY}'].join('')

/** A plugin that logs everything that a careless author might log, and fails with all of it in its error. */
const careless = definePlugin({
  id: 'careless',
  config: Type.Object({ apiKey: Secret(), nested: Type.Object({ keys: Type.Array(Secret()) }) }),
  setup({ config: own, log, routes }) {
    log.info({ config: own }, `set up with ${own.apiKey}`)
    routes((app) => {
      app.post('/careless', { config }, async (request) => {
        const { headers, raw, url, query, body } = request
        request.log.trace({ headers, rawHeaders: raw.rawHeaders, url, query, body }, `asked for ${url}`)
        request.log.info({ key: own.nested.keys[0] }, 'with a key')
        throw new Error(`Failed at ${url} with ${own.apiKey} and ${headers.authorization}`, {
          cause: new Error(JSON.stringify({ headers, body })),
        })
      })
    })
  },
})

test('the log has every request with its id, and no secrets at any level', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({
    plugins: [careless],
    logLevel: 'trace',
    onLog: (line) => lines.push(line),
    environment: { CARELESS_KEY: 'sk-from-the-environment' },
    config: { careless: { apiKey: reference, nested: { keys: ['a key "with" \\ signs'] } } },
  })
  t.teardown(() => node.stop())
  const { token } = await node.signIn('owner')
  const other = `nks_${'A'.repeat(43)}`
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    cookie: `session=${other}; theme=dark-cookie`,
  }
  const body = JSON.stringify({ token: other, password: 'hunter2-hunter2', claim: 'CLAIM-CODE-1234' })

  const answers = []
  for (const [method, path] of [
    ['POST', `/careless?token=${token}&api_key=key-in-a-query`],
    ['GET', `/nothing/${token}?access_token=token-in-a-query`],
    ['GET', '/whoami'],
    ['GET', '/api/system/plugins'],
    ['GET', `/%zz?token=${token}`],
    ['PUT', `/whoami?token=${token}`],
  ] as const) {
    const connection = rawConnection(node.url)
    connection.send(rawRequest(method, path, headers, method === 'POST' ? body : ''))
    answers.push({ path, ...(await connection.answer()) })
    connection.close()
  }
  const broken = rawConnection(node.url)
  broken.send(`GET /x?token=${token} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n: \r\n\r\n`)
  await broken.answer()
  broken.close()

  const whole = lines.join('')
  for (const secret of [
    token,
    token.slice(4),
    other,
    'sk-from-the-environment',
    'a key \\"with',
    'hunter2',
    'CLAIM-CODE',
    'key-in-a-query',
    'token-in-a-query',
    'dark-cookie',
  ]) {
    const leak = lines.find((line) => line.includes(secret))
    t.equal(leak, undefined, secret)
  }
  for (const line of lines) t.type(JSON.parse(line), 'object', 'each line is JSON')
  for (const { path, headers: answered } of answers.filter((answer) => !answer.path.startsWith('/%zz'))) {
    const id = answered['x-request-id'] ?? ''
    t.ok(whole.includes(`"reqId":"${id}"`), `the log knows the id of ${path.slice(0, 10)}`)
  }
  t.notMatch(answers[0]?.body, /sk-from|nks_|Bearer/)
})

test('a client cannot choose the id of its request', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const ids = new Set<string | null>()
  for (let i = 0; i < 5; i++) {
    const answer = await node.fetch('/health', { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } })
    ids.add(answer.headers.get('x-request-id'))
  }
  t.equal(ids.size, 5)
  t.notOk(ids.has('mine') || ids.has(null))
})

test('a full disk takes one line of the log for each request, without a stack', async (t) => {
  const lines: string[] = []
  const full = definePlugin({
    id: 'full',
    setup: ({ routes }) =>
      routes((app) => {
        app.post('/full', { config }, async () => {
          throw new NodekeepError('INSUFFICIENT_STORAGE', 'The disk is full. Remove what is not needed.', {
            cause: new Error('ENOSPC'),
          })
        })
      }),
  })
  const node = await createTestNode({ plugins: [full], logLevel: 'warn', onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  const answer = await fetch(new URL('/full', node.url), { method: 'POST' })
  t.match(await answer.json(), { error: true, code: 'INSUFFICIENT_STORAGE' })
  const found = lines.filter((line) => line.includes('The disk is full.'))
  t.equal(found.length, 1)
  t.match(JSON.parse(found[0] ?? '{}'), { level: 'warn', path: '/full', msg: /^The disk is full/ })
  t.notMatch(found[0], /stack|ENOSPC/)
})
