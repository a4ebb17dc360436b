import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { arithmetic, hostile } from './fixtures/modules.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { callFile, post, store } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

/** A user with a module that is quick. */
async function person(node: TestNode): Promise<TestUser> {
  const user = await node.signIn()
  await store(user, '/a.wasm', await wat(arithmetic))
  return user
}

/** Users who call loops again and again, each with several at a time, until told to stop. */
async function attack(t: Test, node: TestNode, users: number): Promise<() => Promise<void>> {
  let over = false
  const end = new AbortController()
  const loops: Promise<void>[] = []
  for (let user = 0; user < users; user += 1) {
    const eve = await node.signIn()
    await store(eve, '/h.wasm', await wat(hostile))
    for (let index = 0; index < 6; index += 1) {
      loops.push(
        (async () => {
          while (!over) {
            const body = { filepath: '/h.wasm', function: 'loop' }
            const answer = await post(eve, 'execute-file', body, { signal: end.signal }).catch(() => null)
            await answer?.arrayBuffer().catch(() => null)
          }
        })(),
      )
    }
  }
  const stop = async () => {
    over = true
    end.abort()
    await Promise.all(loops)
  }
  t.teardown(stop)
  return stop
}

/** Longer than all else of a test takes, so that no loop ends meanwhile. */
const timeoutMs = 600_000

for (const [users, processes] of [
  [1, 4],
  [2, 4],
  [1, 2],
] as const) {
  t.test(
    `${users} with loops without end, and ${processes} processes: others are answered meanwhile`,
    async (t) => {
      const node = await createNativeNode(t, { timeoutMs }, { config: { 'wasm-native': { processes } } })
      const [ada, bob] = [await person(node), await person(node)]
      await callFile(ada, '/a.wasm', 'add', [1, 2])
      const stop = await attack(t, node, users)
      for (let n = 0; n < 10; n += 1) {
        t.equal((await callFile(ada, '/a.wasm', 'add', [n, 1])).text, `{"success":true,"result":${n + 1}}`)
      }
      t.equal((await callFile(bob, '/a.wasm', 'add', [1, 2])).status, 200, 'and a newcomer')
      await stop()
    },
  )
}

t.test('with more users of loops than there are places, others are answered in turn', async (t) => {
  const node = await createNativeNode(t, { timeoutMs: 200 })
  const ada = await person(node)
  await callFile(ada, '/a.wasm', 'add', [1, 2])
  const stop = await attack(t, node, 6)
  for (let n = 0; n < 5; n += 1) t.equal((await callFile(ada, '/a.wasm', 'add', [n, 1])).status, 200)
  await stop()
})
