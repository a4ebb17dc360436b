import { statfs } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode, setClock, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import nodeHistory from '../src/index.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

interface History {
  readonly periods: readonly {
    readonly begins: string
    readonly free: number | null
    readonly total: number | null
    readonly files: number | null
    readonly load: number | null
    readonly requests: number
  }[]
  readonly fullInDays: number | null
}

const config = { 'node-history': { measureSeconds: 1 } }
const withFiles = { ...config, plugins: { files: true, 'storage-local': true } }

const historyOf = async (owner: TestUser, path: string) =>
  (await (await owner.fetch(`/api/node-history/${path}`)).json()) as History

/** Waits until the history is as a test expects. */
async function until(owner: TestUser, isThere: (history: History) => boolean): Promise<History> {
  for (;;) {
    const history = await historyOf(owner, 'hours')
    if (isThere(history)) return history
    await delay(100)
  }
}

async function startNode(t: Test, more: Parameters<typeof createTestNode>[0] = {}): Promise<TestNode> {
  const node = await createTestNode({ plugins: [nodeHistory], config, folder: import.meta.dirname, ...more })
  t.teardown(() => node.stop())
  return node
}

t.test('the owner sees storage and load, also after a restart', async (t) => {
  const dataFolder = t.testdir({})
  const node = await startNode(t, { config: withFiles, dataFolder })
  const owner = await node.signIn('owner')
  await owner.fetch('/write?path=/film', { method: 'PUT', body: Buffer.alloc(5000) })
  const isMeasured = ({ periods }: History) => {
    const last = periods.at(-1)
    return last?.files === 5000 && last.requests > 2
  }
  const hour = (await until(owner, isMeasured)).periods.at(-1)
  t.match(hour, { begins: /:00:00\.000Z$/, free: Number, total: Number, load: Number })
  t.ok((hour?.free ?? 0) > 0 && (hour?.free ?? 0) <= (hour?.total ?? 0))
  t.ok((hour?.load ?? -1) >= 0 && (hour?.load ?? 2) <= 1)
  const days = await historyOf(owner, 'days')
  t.match(days.periods.at(-1), { begins: /T00:00:00\.000Z$/, files: 5000 })
  t.equal(days.fullInDays, null)
  await node.stop()

  const again = await startNode(t, { config: withFiles, dataFolder })
  const later = await historyOf(await again.signIn('owner'), 'days')
  const requests = later.periods.reduce((sum, day) => sum + day.requests, 0)
  t.ok(requests >= (hour?.requests ?? 0), 'nothing is lost at a stop')
})

t.test('only the owner sees it, and at most what is kept', async (t) => {
  const node = await startNode(t)
  const [owner, user] = [await node.signIn('owner'), await node.signIn()]
  for (const path of ['hours', 'days']) {
    t.equal((await node.fetch(`/api/node-history/${path}`)).status, 401)
    t.equal((await user.fetch(`/api/node-history/${path}`)).status, 403)
    for (const last of ['0', '-1', '401', '1e9', 'all'])
      t.equal((await owner.fetch(`/api/node-history/${path}?last=${last}`)).status, 400, last)
  }
  const { periods } = await until(owner, ({ periods }) => periods.length > 0)
  t.match(periods, [{ files: null }], 'a node without files has none')
})

t.test('what was measured under a clock that was ahead is hidden until its time comes', async (t) => {
  const node = await startNode(t)
  t.teardown(() => setClock(null))
  const owner = await node.signIn('owner')
  const isAfter = (time: number) => (history: History) =>
    Date.parse(history.periods.at(-1)?.begins ?? '') > time
  const first = Date.parse((await until(owner, ({ periods }) => periods.length > 0)).periods[0]?.begins ?? '')
  const ahead = new Date(Date.now() + 3 * hourMs)
  setClock(ahead)
  await until(owner, isAfter(first + hourMs))
  setClock(null)
  const { periods } = await historyOf(owner, 'hours')
  t.equal(Date.parse(periods[0]?.begins ?? ''), first, 'the hours before are there')
  t.ok(periods.every(({ begins }) => Date.parse(begins) <= Date.now()))
})

t.test('the node tells when a disk that fills will be full', async (t) => {
  const dataFolder = t.testdir({})
  const { bavail, blocks, bsize } = await statfs(dataFolder)
  const past = definePlugin({
    id: 'node-history',
    setup({ state, onStart }) {
      const begins = Math.floor(Date.now() / dayMs - 20) * dayMs
      const load = { processorMs: 4, busyMs: 1, requests: 7 }
      const day = { begins, free: 2 * bavail * bsize, total: blocks * bsize, files: 1, ...load }
      onStart(() => state.set('periods', { hours: [], days: [day] }))
    },
  })
  await (await createTestNode({ plugins: [past], dataFolder })).stop()
  const node = await startNode(t, { dataFolder })
  const owner = await node.signIn('owner')
  await until(owner, ({ periods }) => periods.length > 0)
  const { periods, fullInDays } = await historyOf(owner, 'days?last=30')
  t.match(periods[0], { free: 2 * bavail * bsize, load: 0.25, requests: 7 })
  // Half of the room was used up in 20 days. Other programs use the disk of the test, too.
  t.ok(fullInDays !== null && fullInDays >= 10 && fullInDays <= 40, `${fullInDays}`)
  t.equal((await historyOf(owner, 'days?last=5')).periods.length, periods.length - 1)
})
