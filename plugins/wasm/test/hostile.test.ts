import { setTimeout } from 'node:timers/promises'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { arithmetic, hostile } from './fixtures/modules.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { callFile, store } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

/** Durations of calls in milliseconds, in ascending order. */
type Times = readonly number[]

/** Requests /health until the returned function is called, which returns the duration of each answer. */
function watchHealth(node: TestNode) {
  const times: number[] = []
  let stopped = false
  const requests = (async () => {
    while (!stopped) {
      const start = performance.now()
      await (await node.fetch('/health')).arrayBuffer()
      times.push(performance.now() - start)
      await setTimeout(20)
    }
  })()
  return async (): Promise<Times> => {
    stopped = true
    await requests
    return times.sort((a, b) => a - b)
  }
}

/** Returns the module with a custom section, so that the node does not know it yet. */
function variantOf(module: Uint8Array, number: number): Uint8Array {
  const [custom, size, lengthOfName] = [0, 2, 0]
  return Buffer.concat([module, Buffer.from([custom, size, lengthOfName, number])])
}

t.test('a node answers 100 calls at once, of which a quarter are hostile calls of other users', async (t) => {
  // Long enough for the honest calls on a busy machine. Each of the four loops takes it up.
  const timeoutMs = 2000
  const node = await createNativeNode(t, { timeoutMs, memoryMB: 16 })
  const users = await Promise.all(Array.from({ length: 3 }, () => node.signIn()))
  const attackers = await Promise.all(Array.from({ length: 2 }, () => node.signIn()))
  for (const user of users) await store(user, '/a.wasm', await wat(arithmetic))
  const module = await wat(hostile)
  for (const attacker of attackers) {
    for (let index = 0; index < 13; index += 1)
      await store(attacker, `/h-${index}.wasm`, variantOf(module, index))
  }
  for (const user of users) await callFile(user, '/a.wasm', 'add', [1, 2])

  const health = watchHealth(node)
  let attacked = 0
  const attacks = attackers.flatMap((attacker) =>
    Array.from({ length: 13 }, async (_, index) => {
      const name = ['loop', 'grow', 'deep', 'trap', 'grow', 'trap', 'deep'][index % 7] as string
      const response = await callFile(attacker, `/h-${index}.wasm`, name)
      attacked += 1
      t.match(response, { status: 422, body: { code: 'UNPROCESSABLE' } }, name)
    }),
  )
  const calls = users.flatMap((user) =>
    Array.from({ length: 25 }, async (_, index) => {
      const { text } = await callFile(user, '/a.wasm', 'add', [index, index])
      t.equal(text, `{"success":true,"result":${2 * index}}`)
    }),
  )
  await Promise.all(calls)
  t.ok(
    attacked < attacks.length,
    `the users were answered after ${attacked} of the ${attacks.length} attacks`,
  )
  await Promise.all(attacks)
  const times = await health()
  // Loops in the process of the node would hold most answers up for the whole limit.
  const median = times[Math.floor(times.length / 2)] as number
  t.ok(median < timeoutMs / 2, `half of the answers of /health took less than ${median.toFixed(1)} ms`)
  t.equal(
    (await callFile(users[0] as TestUser, '/a.wasm', 'add', [1, 2])).text,
    '{"success":true,"result":3}',
  )
})
