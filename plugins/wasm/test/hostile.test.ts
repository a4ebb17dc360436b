import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { arithmetic, hostile } from './fixtures/modules.ts'
import { createNativeNode } from './fixtures/native-node.ts'
import { callFile, store, type Told } from './fixtures/wasm-node.ts'
import { wat } from './fixtures/wat.ts'

/** Milliseconds that calls took, in their order from the fastest. */
type Times = readonly number[]

async function timed(call: () => Promise<Told>, times: number[]): Promise<Told> {
  const start = performance.now()
  const heard = await call()
  times.push(performance.now() - start)
  return heard
}

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

t.test('200 calls at once, of which a quarter are hostile and come from other users', async (t) => {
  const node = await createNativeNode(t, { timeoutMs: 1000, memoryMB: 16 })
  const people = await Promise.all(Array.from({ length: 3 }, () => node.signIn()))
  const others = await Promise.all(Array.from({ length: 2 }, () => node.signIn()))
  for (const person of people) await store(person, '/a.wasm', await wat(arithmetic))
  for (const other of others) await store(other, '/h.wasm', await wat(hostile))
  const add = (person: TestUser, index: number) => () => callFile(person, '/a.wasm', 'add', [index, index])
  for (const person of people) await add(person, 0)()

  const health = watchHealth(node)
  const attacks = others.flatMap((other) =>
    Array.from({ length: 25 }, (_, index) =>
      callFile(other, '/h.wasm', ['loop', 'grow', 'deep', 'trap', 'loop'][index % 5] as string),
    ),
  )
  const times: number[] = []
  const calls = people.flatMap((person) =>
    Array.from({ length: 50 }, async (_, index) => {
      const heard = await timed(add(person, index), times)
      t.equal(heard.text, `{"success":true,"result":${2 * index}}`)
    }),
  )
  await Promise.all(calls)
  times.sort((a, b) => a - b)
  t.ok((times.at(-1) as number) < 1000, `the slowest took ${times.at(-1)?.toFixed()} ms, less than the limit`)
  for (const heard of await Promise.all(attacks)) {
    t.match(heard, { status: 422, body: { code: 'UNPROCESSABLE' } })
  }
  const slowest = (await health()).at(-1) as number
  t.ok(slowest < 100, `/health took ${slowest.toFixed()} ms at most`)
  t.equal((await add(people[0] as TestUser, 1)()).text, '{"success":true,"result":2}')
})
