import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { arithmetic, hostile } from './fixtures/modules.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { callFile, store } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

/** Milliseconds that calls took, in their order from the fastest. */
type Times = readonly number[]

/** Asks for /health over and over until told to stop, and says how long each answer took. */
function watchHealth(node: TestNode) {
  const times: number[] = []
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const start = performance.now()
      await (await node.fetch('/health')).arrayBuffer()
      times.push(performance.now() - start)
    }
  })()
  return async (): Promise<Times> => {
    stopped = true
    await watching
    return times.sort((a, b) => a - b)
  }
}

/** The module with a custom section that makes it one which nobody knows yet. */
function unlike(module: Uint8Array, number: number): Uint8Array {
  const [custom, size, lengthOfName] = [0, 2, 0]
  return Buffer.concat([module, Buffer.from([custom, size, lengthOfName, number])])
}

t.test('200 calls at once, of which a quarter are hostile and come from other users', async (t) => {
  const node = await createNativeNode(t, { timeoutMs: 200, memoryMB: 16 })
  const people = await Promise.all(Array.from({ length: 3 }, () => node.signIn()))
  const others = await Promise.all(Array.from({ length: 2 }, () => node.signIn()))
  for (const person of people) await store(person, '/a.wasm', await wat(arithmetic))
  const module = await wat(hostile)
  for (const other of others) {
    for (let index = 0; index < 25; index += 1) await store(other, `/h-${index}.wasm`, unlike(module, index))
  }
  for (const person of people) await callFile(person, '/a.wasm', 'add', [1, 2])

  const health = watchHealth(node)
  let attacked = 0
  const attacks = others.flatMap((other) =>
    Array.from({ length: 25 }, async (_, index) => {
      const name = ['loop', 'grow', 'deep', 'trap', 'grow', 'trap', 'deep'][index % 7] as string
      const heard = await callFile(other, `/h-${index}.wasm`, name)
      attacked += 1
      t.match(heard, { status: 422, body: { code: 'UNPROCESSABLE' } }, name)
    }),
  )
  const calls = people.flatMap((person) =>
    Array.from({ length: 50 }, async (_, index) => {
      const { text } = await callFile(person, '/a.wasm', 'add', [index, index])
      t.equal(text, `{"success":true,"result":${2 * index}}`)
    }),
  )
  await Promise.all(calls)
  t.ok(
    attacked < attacks.length,
    `the others were answered after ${attacked} of the ${attacks.length} attacks`,
  )
  await Promise.all(attacks)
  const times = await health()
  // How long the slowest took is a matter of the machine, which runs other tests too, and of this process itself.
  const slow = times[Math.floor(times.length * 0.9)] as number
  t.ok(slow < 100, `nine of ten answers of /health took less than ${slow.toFixed(1)} ms`)
  t.equal(
    (await callFile(people[0] as TestUser, '/a.wasm', 'add', [1, 2])).text,
    '{"success":true,"result":3}',
  )
})
