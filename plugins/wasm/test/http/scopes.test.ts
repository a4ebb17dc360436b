import t from 'tap'
import { createQueueStand } from '../fixtures/queue-stand.ts'
import { post, tokenUser, told } from '../fixtures/wasm-node.ts'

t.test('nobody gets in without a session, and API tokens need the scope', async (t) => {
  const { node, people } = await createQueueStand(t)
  const [ada] = people
  const asked = [
    ['execute-file', { filepath: '/m.wasm', function: 'same', args: [1] }],
    ['execute', { wasmBytes: 'AAAA', function: 'same', args: [1] }],
    ['run', { filepath: '/m.wasm' }],
  ] as const
  const token = await tokenUser(node, ada, ['wasm'])
  const other = await tokenUser(node, ada, ['files:read', 'files:write'])
  for (const [endpoint, body] of asked) {
    t.equal((await told(post(node, endpoint, body))).status, 401, endpoint)
    t.equal((await told(post(other, endpoint, body))).status, 403, endpoint)
    t.equal((await told(post(token, endpoint, body))).status, 200, endpoint)
  }
  t.equal((await told(node.fetch('/api/wasm/exports?path=/m.wasm'))).status, 401)
  t.equal((await told(other.fetch('/api/wasm/exports?path=/m.wasm'))).status, 403)
  t.equal((await told(token.fetch('/api/wasm/exports?path=/m.wasm'))).status, 200)
})

t.test('a program reaches no files that its caller may not reach', async (t) => {
  const { runtime, node, people } = await createQueueStand(t)
  const tokens = {
    none: await tokenUser(node, people[0], ['wasm']),
    read: await tokenUser(node, people[0], ['wasm', 'files:read']),
    write: await tokenUser(node, people[0], ['wasm', 'files:write']),
    both: await tokenUser(node, people[0], ['wasm', 'files:read', 'files:write']),
  }
  const allowed = { none: [], read: [false], write: [], both: [false, true] } as const
  for (const [name, user] of Object.entries(tokens)) {
    for (const writable of [false, true]) {
      const body = { filepath: '/m.wasm', folders: [{ path: '/', as: '/data', writable }] }
      const may = (allowed[name as keyof typeof allowed] as readonly boolean[]).includes(writable)
      const heard = await told(post(user, 'run', body))
      t.equal(heard.status, may ? 200 : 403, `${name}, writable: ${writable}`)
      if (!may) t.match(heard.body, { code: 'FORBIDDEN', message: /files:(read|write)/ })
    }
  }
  t.equal(runtime.programs.length, 3)
})
