import { copyFileSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { backup } from 'node:sqlite'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { Store, StoreSession, StoreSnapshot } from '../../src/store/store.ts'
import {
  addFile,
  contentOf,
  fileAt,
  leaf,
  packFiles,
  type StoreStand,
  storeStand,
} from './fixtures/store-stand.ts'

interface Model {
  readonly files: Map<string, string>
  /** Contents by the holders of roots. */
  readonly roots: Map<string, string>
}

/** The store, and what uses it at the moment. */
interface Real {
  readonly t: Test
  readonly stand: StoreStand
  store: Store
  session: StoreSession | null
  snapshot: { readonly snapshot: StoreSnapshot; readonly files: ReadonlyMap<string, string> } | null
}

type Step = fc.AsyncCommand<Model, Real>

const packBytes = 20_000
const name = fc.constantFrom('/a', '/b', '/folder/c', '/folder/d')
const holder = fc.constantFrom('one', 'two')
/** Few texts, so that files share blocks. */
const text = fc.integer({ min: 0, max: 5 }).map((seed) => `${seed}`.repeat(3000 + 500 * seed))
const content = fc.array(text, { minLength: 1, maxLength: 4 })

async function isAsModel(store: Store, { files, roots }: Model): Promise<void> {
  for (const [path, text] of files)
    if ((await fileAt(store.view, path)) !== text) throw new Error(`${path} differs.`)
  for (const text of roots.values())
    if ((await contentOf(store.view, leaf(text).cid)) !== text) throw new Error('A root differs.')
}

/** After a compaction without sessions and snapshots, packs have what is named, and nothing else. */
async function hasNoGarbage(store: Store): Promise<void> {
  await store.compact()
  const count = (sql: string) => Number(store.view.connection.prepare(sql).get()?.count)
  if (count('SELECT sum(length) - 18 * count(*) - sum(live) AS count FROM pack') !== 0)
    throw new Error('Packs have garbage.')
  if (count('SELECT count(*) AS count FROM block WHERE refs <= 0') !== 0)
    throw new Error('Blocks are left that nothing names.')
  const { damaged } = await store.verify()
  if (damaged.length > 0) throw new Error('A block is damaged.')
  const fault = await store.check()
  if (fault !== null) throw new Error(fault)
}

async function release(real: Real): Promise<void> {
  real.session?.end()
  real.session = null
  await real.snapshot?.snapshot.release()
  real.snapshot = null
}

function step(label: string, run: (model: Model, real: Real) => Promise<void>): Step {
  return {
    check: () => true,
    toString: () => label,
    async run(model, real) {
      await run(model, real)
      await isAsModel(real.store, model)
      for (const [path, text] of real.snapshot?.files ?? [])
        if ((await fileAt(real.snapshot?.snapshot.view as never, path)) !== text)
          throw new Error('A snapshot has changed.')
    },
  }
}

let revisions = 0

const steps = [
  fc.tuple(name, content).map(([path, parts]) =>
    step(`put ${path}`, async ({ files }, { store }) => {
      revisions += 1
      await addFile(store, path, parts, `${revisions}`)
      files.set(path, parts.join(''))
    }),
  ),
  name.map((path) =>
    step(`remove ${path}`, async ({ files }, { store }) => {
      if (files.delete(path)) await store.change([{ kind: 'remove', path }])
    }),
  ),
  fc.tuple(holder, text).map(([holder, text]) =>
    step(`root ${holder}`, async ({ roots }, { store }) => {
      const session = store.session()
      const { cid, bytes } = leaf(text)
      await session.put(cid, bytes)
      await store.change([{ kind: 'root', holder, cid: cid.bytes }])
      session.end()
      roots.set(holder, text)
    }),
  ),
  holder.map((holder) =>
    step(`no root ${holder}`, async ({ roots }, { store }) => {
      await store.change([{ kind: 'root', holder, cid: null }])
      roots.delete(holder)
    }),
  ),
  content.map((parts) =>
    step('put in a session that stays', async (_, real) => {
      real.session ??= real.store.session()
      for (const { cid, bytes } of parts.map(leaf)) await real.session.put(cid, bytes)
    }),
  ),
  fc.constant(
    step('snapshot', async ({ files }, real) => {
      real.snapshot ??= { snapshot: real.store.snapshot(), files: new Map(files) }
    }),
  ),
  fc.constant(step('release', (_, real) => release(real))),
  fc.constant(
    step('compact', async (_, real) => {
      await release(real)
      await hasNoGarbage(real.store)
    }),
  ),
  fc.constant(
    step('reopen', async (_, real) => {
      await release(real)
      await real.store.close()
      real.store = await real.stand.open(packBytes)
    }),
  ),
  fc.constant(
    step('crash', async (model, { t, stand, store }) => {
      // A crash leaves what was committed, and the packs: they are only appended to, and a snapshot keeps those that go.
      const copy = storeStand(t, mkdtempSync(join(tmpdir(), 'ipfs-crashed-')))
      const moment = store.snapshot()
      mkdirSync(copy.packs)
      await backup(moment.view.connection, copy.index)
      for (const file of packFiles(stand)) copyFileSync(file, join(copy.packs, basename(file)))
      await moment.release()
      const crashed = await copy.open(packBytes)
      await isAsModel(crashed, model)
      await hasNoGarbage(crashed)
      await isAsModel(crashed, model)
      await crashed.close()
    }),
  ),
]

t.test('whatever happens to a store, all that is named can be read, and nothing else stays', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.commands(steps, { maxCommands: 25, size: 'max' }), async (commands) => {
      const stand = storeStand(t)
      const model = { files: new Map(), roots: new Map() }
      const real: Real = { t, stand, store: await stand.open(packBytes), session: null, snapshot: null }
      try {
        await fc.asyncModelRun(() => ({ model, real }), commands)
        await release(real)
        await hasNoGarbage(real.store)
        await isAsModel(real.store, model)
      } finally {
        await real.store.close()
      }
    }),
    { numRuns: 5 },
  )
})
