import { setTimeout } from 'node:timers/promises'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { arithmetic, hostile } from './fixtures/modules.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { callFile, post, store } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

/** Signs a user in who has a module with quick functions. */
async function signInWithModule(node: TestNode): Promise<TestUser> {
  const user = await node.signIn()
  await store(user, '/a.wasm', await wat(arithmetic))
  return user
}

/** Starts users who each call six loops at a time, again and again, until the returned function is called. */
async function attack(t: Test, node: TestNode, users: number): Promise<() => Promise<void>> {
  let stopped = false
  const end = new AbortController()
  const loops: Promise<void>[] = []
  for (let user = 0; user < users; user += 1) {
    const eve = await node.signIn()
    await store(eve, '/h.wasm', await wat(hostile))
    for (let index = 0; index < 6; index += 1) {
      loops.push(
        (async () => {
          while (!stopped) {
            const body = { filepath: '/h.wasm', function: 'loop' }
            const answer = await post(eve, 'execute-file', body, { signal: end.signal }).catch(() => null)
            await answer?.arrayBuffer().catch(() => null)
            // A call beyond the places is refused at once. Without a rest, the attack would only keep the processor busy.
            await setTimeout(20, undefined, { signal: end.signal }).catch(() => null)
          }
        })(),
      )
    }
  }
  const stop = async () => {
    stopped = true
    end.abort()
    await Promise.all(loops)
  }
  t.teardown(stop)
  return stop
}

/** Longer than a test takes, so that no loop ends during it. */
const timeoutMs = 600_000

for (const [users, processes] of [
  [2, 4],
  [1, 2],
] as const) {
  t.test(`${processes} processes answer other users while endless loops of ${users} run`, async (t) => {
    const node = await createNativeNode(t, { timeoutMs }, { config: { 'wasm-native': { processes } } })
    const [ada, bob] = [await signInWithModule(node), await signInWithModule(node)]
    await callFile(ada, '/a.wasm', 'add', [1, 2])
    const stop = await attack(t, node, users)
    for (let n = 0; n < 4; n += 1) {
      t.equal((await callFile(ada, '/a.wasm', 'add', [n, 1])).text, `{"success":true,"result":${n + 1}}`)
    }
    t.equal((await callFile(bob, '/a.wasm', 'add', [1, 2])).status, 200, 'a call of a new user is answered')
    await stop()
  })
}

t.test('other users are answered in turn if more users run loops than there are places', async (t) => {
  const node = await createNativeNode(t, { timeoutMs: 200 })
  const ada = await signInWithModule(node)
  await callFile(ada, '/a.wasm', 'add', [1, 2])
  const stop = await attack(t, node, 6)
  for (let n = 0; n < 3; n += 1) {
    const { status } = await callFile(ada, '/a.wasm', 'add', [n, 1])
    // On a busy machine, her own call may reach the short limit. She had her turn all the same.
    t.ok(status === 200 || status === 422, `${status}`)
  }
  await stop()
})
