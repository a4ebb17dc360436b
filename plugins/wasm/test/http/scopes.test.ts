import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { createTokenClient, post, readAnswer } from '../fixtures/wasm-node.ts'

t.test('a request without a session is refused, and API tokens need the scope', async (t) => {
  const { node, users } = await createQueueNode(t)
  const [ada] = users
  const requests = [
    ['execute-file', { filepath: '/m.wasm', function: 'same', args: [1] }],
    ['execute', { wasmBytes: 'AAAA', function: 'same', args: [1] }],
    ['run', { filepath: '/m.wasm' }],
  ] as const
  const token = await createTokenClient(node, ada, ['wasm'])
  const other = await createTokenClient(node, ada, ['files:read', 'files:write'])
  for (const [endpoint, body] of requests) {
    t.equal((await readAnswer(post(node, endpoint, body))).status, 401, endpoint)
    t.equal((await readAnswer(post(other, endpoint, body))).status, 403, endpoint)
    t.equal((await readAnswer(post(token, endpoint, body))).status, 200, endpoint)
  }
  t.equal((await readAnswer(node.fetch('/api/wasm/exports?path=/m.wasm'))).status, 401)
  t.equal((await readAnswer(other.fetch('/api/wasm/exports?path=/m.wasm'))).status, 403)
  t.equal((await readAnswer(token.fetch('/api/wasm/exports?path=/m.wasm'))).status, 200)
})

t.test('a program cannot access files that its caller cannot access', async (t) => {
  const { runtime, node, users } = await createQueueNode(t)
  const tokens = {
    none: await createTokenClient(node, users[0], ['wasm']),
    read: await createTokenClient(node, users[0], ['wasm', 'files:read']),
    write: await createTokenClient(node, users[0], ['wasm', 'files:write']),
    both: await createTokenClient(node, users[0], ['wasm', 'files:read', 'files:write']),
  }
  const allowed = { none: [], read: [false], write: [], both: [false, true] } as const
  for (const [name, user] of Object.entries(tokens)) {
    for (const writable of [false, true]) {
      const body = { filepath: '/m.wasm', folders: [{ path: '/', as: '/data', writable }] }
      const may = (allowed[name as keyof typeof allowed] as readonly boolean[]).includes(writable)
      const response = await readAnswer(post(user, 'run', body))
      t.equal(response.status, may ? 200 : 403, `${name}, writable: ${writable}`)
      if (!may) t.match(response.body, { code: 'FORBIDDEN', message: /files:(read|write)/ })
    }
  }
  t.equal(runtime.programs.length, 3)
})
