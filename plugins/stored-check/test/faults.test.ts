import { existsSync, rmSync, truncateSync, utimesSync } from 'node:fs'
import { request } from 'node:http'
import { basename, join } from 'node:path'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import { concurrently } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import {
  backUp,
  check,
  createCheckingNode,
  flipBit,
  folderOf,
  type OwnFile,
  onDisk,
  put,
} from './fixtures/checking-node.ts'

// In a process of its own: with TEST_RUNS, it runs for minutes.

/** Seeds, each with a user of its own, unless the environment sets another number. */
const seeds = Number(process.env.TEST_RUNS ?? 20)

/** Users of one node. Their backups are tried out together. */
const perNode = 1000

/** Few contents, names and folders, so that duplicates and the same names with other bytes are frequent. */
const content = fc.constantFrom(
  ...['a', 'b', 'ab', 'ba', 'a longer content', 'b longer content', '', 'x'.repeat(70_000)].map((text) =>
    Buffer.from(text),
  ),
)
const name = fc.constantFrom('IMG_1.jpg', 'IMG_2.jpg', 'é.txt', '.DS_Store')
const own = fc.record({ name, content })
const place = fc
  .record({ folder: fc.constantFrom('', '/DCIM', '/DCIM/deep'), name })
  .map(({ folder, name }) => `${folder}/${name}`)

/** A thing that happens to the files of a user on the node. */
const event = fc.oneof(
  { weight: 6, arbitrary: fc.record({ is: fc.constant('upload' as const), path: place, content }) },
  { weight: 2, arbitrary: fc.record({ is: fc.constant('half' as const), path: place, content }) },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('cut' as const), path: place, content }) },
  ...(['delete', 'move', 'copy', 'flip', 'flip-in-time', 'truncate', 'remove-on-disk'] as const).map(
    (is) => ({
      weight: 1,
      arbitrary: fc.record({ is: fc.constant(is), path: place, to: place }),
    }),
  ),
  { weight: 1, arbitrary: fc.record({ is: fc.constant('check' as const), path: place }) },
)
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never

const events = fc.array(event, { maxLength: 4 })
const plan = fc.record({
  own: fc.array(own, { minLength: 1, maxLength: 5 }),
  phases: fc.tuple(fc.array(event, { minLength: 1, maxLength: 6 }), events, events),
})
const outcome = fc.constantFrom('passes', 'passes', 'backup', 'drill', 'deleted')

/** The plan and the knowledge of the test about a user. */
interface Seed {
  readonly user: TestUser
  readonly plan: typeof plan extends fc.Arbitrary<infer T> ? T : never
  /** Contents of files that another program has changed. */
  readonly spoiled: Set<string>
  /** Contents in each backup that was tried out and is there. */
  readonly backups: Set<string>[]
}

t.test(
  'of files with all faults, none is falsely stored or in a backup, and each other one has its reason',
  async (t) => {
    for (let left = seeds, round = 0; left > 0; left -= perNode, round++) {
      const users = Math.min(left, perNode)
      const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31) + round
      const [drawn] = fc.sample(
        fc.record({
          plans: fc.array(plan, { minLength: users, maxLength: users, size: 'max' }),
          outcomes: fc.tuple(outcome, outcome),
        }),
        { seed, numRuns: 1 },
      )
      if (drawn === undefined) throw new Error('Nothing was drawn.')
      const wrong = await play(drawn.plans, drawn.outcomes)
      t.strictSame(wrong, [], `TEST_SEED=${seed} TEST_RUNS=${users}`)
      if (wrong.length > 0) return
    }
  },
)

async function play(plans: readonly Seed['plan'][], outcomes: readonly string[]): Promise<string[]> {
  const node = await createCheckingNode()
  try {
    const owner = await node.signIn('owner')
    const all: Seed[] = []
    for (const plan of plans) all.push({ user: await node.signIn(), plan, spoiled: new Set(), backups: [] })
    for (const phase of [0, 1, 2] as const) {
      await concurrently(all, 8, async (seed) => {
        for (const event of seed.plan.phases[phase]) await happen(node, seed, event)
      })
      const outcome = outcomes[phase]
      if (outcome === undefined) continue
      const contents = all.map(({ user }) => new Set([...filesOf(node, user).values()].map(String)))
      await backUp(node, owner, outcome === 'deleted' ? 'passes' : (outcome as 'passes'))
      if (outcome === 'passes') for (const [at, set] of contents.entries()) all[at]?.backups.push(set)
      if (outcome === 'deleted') await deleteNewest(owner)
    }
    const wrong: string[] = []
    await concurrently(all, 8, async (seed) => {
      wrong.push(...(await faultsOf(node, seed)))
      // The hashes that a check finds out must not make the next answer false.
      wrong.push(...(await faultsOf(node, seed)))
    })
    return wrong
  } finally {
    await node.stop()
  }
}

/** Lets something happen. A file that is not there is left alone. */
async function happen(node: TestNode, seed: Seed, event: Event): Promise<void> {
  const { user } = seed
  const file = join(folderOf(node, user), event.path)
  if (event.is === 'upload') return put(user, event.path, event.content)
  if (event.is === 'half')
    return put(user, event.path, event.content.subarray(0, Math.floor(event.content.length / 2)))
  if (event.is === 'check') return void (await check(user, seed.plan.own))
  if (event.is === 'cut') return cutUpload(node, user, event.path, event.content)
  if (!existsSync(file)) return
  if (event.is === 'delete') await send(user, '/delete', { path: event.path })
  else if (event.is === 'move' || event.is === 'copy') {
    const route = event.is === 'move' ? '/move' : '/api/files/copy'
    await send(user, route, { source: event.path, destination: event.to, overwrite: true })
  } else {
    const bytes = filesOf(node, user).get(event.path) ?? Buffer.alloc(0)
    seed.spoiled.add(String(bytes))
    if (event.is === 'remove-on-disk') rmSync(file)
    else if (event.is === 'truncate') truncateSync(file, Math.floor(bytes.length / 2))
    else if (bytes.length > 0) {
      flipBit(file)
      if (event.is === 'flip-in-time') utimesSync(file, new Date(), new Date())
    }
  }
}

async function send(user: TestUser, route: string, body: object): Promise<void> {
  await user.fetch(route, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** An upload whose connection breaks in the middle. */
async function cutUpload(node: TestNode, user: TestUser, path: string, content: Buffer): Promise<void> {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const sent = request(new URL(`/write?path=${encodeURIComponent(path)}`, node.url), {
    method: 'PUT',
    headers: { authorization: `Bearer ${user.token}`, 'content-length': content.length + 1 },
  })
  sent.on('error', () => {})
  sent.on('close', resolve)
  sent.write(Buffer.concat([content.subarray(0, Math.ceil(content.length / 2)), Buffer.from('.')]), () =>
    sent.destroy(),
  )
  await ended
}

async function deleteNewest(owner: TestUser): Promise<void> {
  const { backups } = (await (await owner.fetch('/api/backup/list')).json()) as {
    backups: { filename: string }[]
  }
  await owner.fetch(`/api/backup/${backups[0]?.filename}`, { method: 'DELETE' })
}

function filesOf(node: TestNode, user: TestUser): Map<string, Buffer> {
  return existsSync(folderOf(node, user)) ? onDisk(node, user) : new Map()
}

/** Compares the answers with what is on the disk. */
async function faultsOf(node: TestNode, { user, plan, spoiled, backups }: Seed): Promise<string[]> {
  const files = filesOf(node, user)
  const answers = await check(user, plan.own)
  return plan.own.flatMap((file, at) => {
    const { state, path, backup } = answers[at] ?? { state: 'none', path: null, backup: null }
    const expected = statesOf(file, files, spoiled)
    // The index may not know yet that another program has removed a file.
    const mayBeGone = state !== 'stored' && spoiled.size > 0
    const isThere = path === null || mayBeGone || files.has(path)
    const isTrue = state !== 'stored' || isSame(file, path ?? '', files)
    const inBackup = state === 'stored' && backups.some((contents) => contents.has(String(file.content)))
    const isRight = expected.includes(state) && isThere && isTrue && (backup !== null) === inBackup
    if (isRight) return []
    return [
      JSON.stringify({
        file: shown(file),
        answer: answers[at],
        expected,
        inBackup,
        plan: shownPlan(plan),
        files: [...files].map(([path, content]) => shown({ name: path, content })),
      }),
    ]
  })
}

/** The states that an answer may have. */
function statesOf(file: OwnFile, files: ReadonlyMap<string, Buffer>, spoiled: ReadonlySet<string>): string[] {
  const paths = [...files.keys()]
  const stored = paths.some((path) => isSame(file, path, files)) ? ['stored'] : []
  if (stored.length > 0 && spoiled.size === 0) return stored
  const named = paths
    .filter((path) => basename(path) === file.name)
    .map((path) => files.get(path)?.length ?? 0)
  const byName =
    named.length === 0 ? 'absent' : named.some((size) => size < file.content.length) ? 'shorter' : 'other'
  // The index has the sizes and contents from before another program has changed files.
  return spoiled.size === 0
    ? [byName]
    : [...stored, byName, 'shorter', 'other', 'damaged', 'changed', 'absent']
}

/** Whether a file of the node is this one. An empty file is the same only under its name. */
function isSame({ name, content }: OwnFile, path: string, files: ReadonlyMap<string, Buffer>): boolean {
  return files.get(path)?.equals(content) === true && (content.length > 0 || basename(path) === name)
}

const shown = ({ name, content }: OwnFile) => `${name}: ${String(content).slice(0, 20)}`

function shownPlan({ own, phases }: Seed['plan']): unknown {
  return {
    own: own.map(shown),
    phases: phases.map((events) =>
      events.map((event) => ({
        ...event,
        ...('content' in event && { content: String(event.content).slice(0, 20) }),
      })),
    ),
  }
}
