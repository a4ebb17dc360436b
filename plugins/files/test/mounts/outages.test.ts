import { setImmediate as nextTurn } from 'node:timers/promises'
import { definePlugin, NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

interface Line {
  readonly level: string
  readonly msg: string
  readonly mount?: string
  readonly err?: { readonly stack?: string }
}

t.test('the log says once that a mount is unreachable, and once that it answers again', async (t) => {
  const lines: Line[] = []
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/shaky': 'shaky', '/gone': 'not-loaded' } },
    { plugins: [shaky.plugin], onLog: (line) => lines.push(JSON.parse(line) as Line) },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/shaky/file', 'x')
  const about = (mount: string) => lines.filter((line) => line.mount === mount)
  const all = async (path: string) => {
    const answers = Array.from({ length: 5 }, () => [
      get(ada, 'read', `${path}/file`),
      get(ada, 'stat', `${path}/file`),
      get(ada, 'readdir', path),
      put(ada, `${path}/other`, 'x'),
    ])
    return Promise.all(answers.flat())
  }

  // The scan at the sign-in may be the first to find it out.
  const before = lines.length
  for (const answer of await all('/gone')) {
    t.equal(answer.status, 503)
    t.equal(answer.headers.get('retry-after'), null, 'a retry does not help')
    t.match(await answer.json(), {
      error: true,
      code: 'SERVICE_UNAVAILABLE',
      message: /^The node has no storage for "\/gone"\. Its owner must correct storage\.mounts/,
    })
  }
  const told = about('/gone').filter(({ msg }) => msg.includes('does not answer'))
  t.match(told, [{ err: { stack: /not-loaded/ } }])
  const others = lines.slice(before).filter(({ mount = '/gone' }) => mount !== '/gone')
  t.strictSame(others, [], 'nothing is logged about other mounts')

  lines.length = 0
  shaky.isReachable = false
  for (const answer of await all('/shaky')) {
    t.equal(answer.status, 503)
    t.ok(Number(answer.headers.get('retry-after')) > 0)
  }
  t.equal((await put(ada, '/elsewhere', 'x')).status, 200)
  t.match(about('/shaky'), [{ msg: /does not answer/ }])
  shaky.isReachable = true
  for (const answer of await all('/shaky')) t.equal(answer.status, 200)
  t.match(about('/shaky'), [{ msg: /does not answer/ }, { msg: /answers again/ }])
  for (let round = 0; round < 5; round += 1) {
    shaky.isReachable = false
    await all('/shaky')
    shaky.isReachable = true
    await all('/shaky')
  }
  t.equal(about('/shaky').length, 2, 'a mount that fails again and again is not logged each time')
})

t.test(
  'the log says once for all readers that a download was interrupted because its mount failed',
  async (t) => {
    const lines: Line[] = []
    const shaky = shakyBackend()
    const node = await createFilesNode(
      { mounts: { '/shaky': 'shaky' } },
      { plugins: [shaky.plugin], onLog: (line) => lines.push(JSON.parse(line) as Line) },
    )
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    await put(ada, '/shaky/large', Buffer.alloc(1_000_000))
    lines.length = 0
    shaky.whileRead = () => {
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'The cable was pulled.')
    }
    for (let round = 0; round < 3; round += 1) {
      const answer = await get(ada, 'read', '/shaky/large')
      await t.rejects(answer.arrayBuffer())
    }
    t.match(
      lines.filter(({ mount }) => mount === '/shaky'),
      [{ msg: /does not answer/ }, { msg: /answers again/ }],
    )
    t.equal(lines.length, 2)
  },
)

t.test('a scan that the stop of the node ends is no outage of its storage', async (t) => {
  const lines: Line[] = []
  const shaky = shakyBackend({ watches: true })
  const stopping = Promise.withResolvers<void>()
  const seesStop = definePlugin({
    id: 'sees-stop',
    setup: ({ signal }) => signal.addEventListener('abort', () => stopping.resolve()),
  })
  const node = await createFilesNode(
    { mounts: { '/shaky': 'shaky' } },
    { plugins: [shaky.plugin, seesStop], onLog: (line) => lines.push(JSON.parse(line) as Line) },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const name of ['a', 'b']) await put(ada, `/shaky/${name}`, 'x')
  const listing = Promise.withResolvers<void>()
  shaky.whileListing = async () => {
    listing.resolve()
    await stopping.promise
    // All plugins are told by then.
    await nextTurn()
  }
  const following = ada.fetch('/api/files/changes').catch(() => {})
  await listing.promise
  lines.length = 0
  await node.stop()
  await following
  t.strictSame(
    lines.filter(({ level }) => level !== 'info' && level !== 'debug'),
    [],
  )
})
