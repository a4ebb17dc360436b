import { deepEqual } from 'node:assert/strict'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import fc from 'fast-check'
import t from 'tap'
import { createSearchNode, found, put, send, untilComplete } from './fixtures/search-node.ts'

/** Sequences, unless the environment sets another number. */
const numRuns = Number(process.env.TEST_RUNS ?? 12)

const words = ['alpha', 'beta', 'gamma', 'delta'] as const

const folder = fc.constantFrom('', '/d', '/d/e', '/f')
const file = fc.tuple(folder, fc.constantFrom('a.txt', 'b.md', 'c')).map(([path, name]) => `${path}/${name}`)
const word = fc.constantFrom(...words)
const of = { user: fc.constantFrom(0, 1) }

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      ...of,
      do: fc.constant('write' as const),
      path: file,
      words: fc.subarray([...words]),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...of,
      do: fc.constant('move' as const),
      source: fc.oneof(file, fc.constantFrom('/d', '/d/e', '/f')),
      destination: fc.oneof(file, fc.constantFrom('/d', '/d/e', '/f', '/g')),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...of,
      do: fc.constant('delete' as const),
      path: fc.oneof(file, fc.constantFrom('/d', '/f')),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...of, do: fc.constant('restore' as const), item: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ ...of, do: fc.constant('search' as const), word }) },
  { weight: 1, arbitrary: fc.record({ ...of, do: fc.constant('wait' as const) }) },
  { weight: 1, arbitrary: fc.record({ ...of, do: fc.constant('restart' as const) }) },
)

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

type Client = Pick<TestUser, 'fetch'>

t.test('each search finds exactly the files with the word', async (t) => {
  const dataFolder = t.testdir()
  let node: TestNode = await createSearchNode({ dataFolder })
  t.teardown(() => node.stop())

  async function play(users: readonly Client[], one: Step): Promise<void> {
    const user = users[one.user] as Client
    if (one.do === 'write') await put(user, one.path, one.words.join(' ')).catch(ignoreRefusal)
    if (one.do === 'move')
      await send(user, 'POST', '/move', { source: one.source, destination: one.destination }).catch(
        ignoreRefusal,
      )
    if (one.do === 'delete') await send(user, 'POST', '/delete', { path: one.path }).catch(ignoreRefusal)
    if (one.do === 'restore') {
      const { items } = (await send(user, 'GET', '/api/files/trash')) as { readonly items: { id: string }[] }
      const item = items[one.item % Math.max(1, items.length)]
      if (item !== undefined) await send(user, 'POST', '/api/files/trash/restore', { id: item.id })
    }
    if (one.do === 'search') await found(user, one.word)
    if (one.do === 'wait') await untilComplete(user)
    if (one.do === 'restart') {
      await node.stop()
      node = await createSearchNode({ dataFolder })
    }
  }

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const tokens = [(await node.signIn()).token, (await node.signIn()).token]
      const users = tokens.map((token) => ({
        fetch: (path: string, init: RequestInit = {}) => {
          const headers = new Headers(init.headers)
          headers.set('authorization', `Bearer ${token}`)
          return node.fetch(path, { ...init, headers })
        },
      }))
      for (const one of steps) await play(users, one)
      for (const user of users) {
        const stored = await filesOf(user)
        await untilComplete(user)
        for (const one of words) {
          const having = stored
            .filter(([, content]) => content.split(' ').includes(one))
            .map(([path]) => path)
          // It throws, so that the steps are told.
          deepEqual((await found(user, one)).sort(), having.sort(), `"${one}"`)
        }
        deepEqual(
          // A folder may have this name too.
          (await found(user, 'a.txt', { type: 'text' })).sort(),
          stored
            .map(([path]) => path)
            .filter((path) => path.endsWith('/a.txt'))
            .sort(),
        )
      }
    }),
    // To shrink the steps of a real node takes minutes without a word. The seed and the path are told at once.
    {
      numRuns,
      endOnFailure: true,
      ...(process.env.TEST_SEED !== undefined && { seed: Number(process.env.TEST_SEED) }),
    },
  )
})

/** A change may be impossible, such as a move to a taken path. */
function ignoreRefusal(): void {}

/** The files of a user, with their contents. */
async function filesOf(user: Client): Promise<[path: string, content: string][]> {
  const files: [string, string][] = []
  const folders = ['/']
  for (const path of folders) {
    const entries = (await send(user, 'GET', `/readdir?path=${encodeURIComponent(path)}`)) as {
      readonly name: string
      readonly type: string
    }[]
    for (const { name, type } of entries) {
      const inside = `${path === '/' ? '' : path}/${name}`
      if (type === 'directory') folders.push(inside)
      else files.push([inside, await (await user.fetch(`/read?path=${encodeURIComponent(inside)}`)).text()])
    }
  }
  return files
}
