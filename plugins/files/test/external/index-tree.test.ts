import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { StorageBackend, UserFiles } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type CapturedServices, captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.jobs = 3

const content = (text: string) => Readable.from([Buffer.from(text)])

/** Few names, so that changes meet each other, and what another program has stored. */
const path = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  .map((names) => `/cold/${names.join('/')}`)
const change = fc.record({
  op: fc.constantFrom('write', 'write', 'makeDirectory', 'remove', 'move' as const),
  path,
  to: path,
  /** Whether the listing waits for the change. */
  isAwaited: fc.boolean(),
})
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

/** Makes a change. One that is refused, such as that of a path that is not there, changes nothing. */
async function make(files: UserFiles, { op, path, to }: Change): Promise<void> {
  const made =
    op === 'write'
      ? files.write(path, content(to))
      : op === 'move'
        ? files.move(path, to, { overwrite: true })
        : files[op](path)
  await made.catch(() => {})
}

/** All entries below a folder as a storage lists them: `/cold/a file REVISION`. */
async function listed(files: UserFiles, folder: string): Promise<string[]> {
  const lines: string[] = []
  for await (const { name, type, revision } of files.list(folder)) {
    const path = `${folder}/${name}`
    lines.push(`${path} ${type} ${type === 'file' ? revision : null}`)
    if (type === 'directory') lines.push(...(await listed(files, path)))
  }
  return lines.sort()
}

/** All entries of a user below a folder as the index has them. */
async function indexed({ index }: CapturedServices, uuid: string, folder: string): Promise<string[]> {
  const lines: string[] = []
  for (let cursor = ''; ; ) {
    const page = await index.for({ uuid }).changed(cursor)
    if (page.cursor === cursor) return lines.sort()
    cursor = page.cursor
    for (const { path, type, revision } of page.entries)
      if (path.startsWith(`${folder}/`)) lines.push(`${path} ${type} ${revision}`)
  }
}

t.test('an index that is built beside changes of the node has what the storage has', async (t) => {
  const shaky = shakyBackend()
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/cold': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const memory = services.backends.get('memory') as StorageBackend
  const { index } = services
  const isRight = fc.asyncProperty(
    fc.array(path, { maxLength: 12 }),
    fc.array(change, { minLength: 1, maxLength: 10 }),
    async (before, changes) => {
      const ada = await node.signIn()
      const { uuid } = ada.user
      for (const path of before) {
        const stored = `/${uuid}${path.slice('/cold'.length)}`
        await memory.write(stored, content('x')).catch(() => {})
      }
      const files = services.files.for(ada.user)
      const left = [...changes]
      const made: Promise<void>[] = []
      let running = 0
      const next = () => {
        const change = left.shift()
        if (change === undefined) return
        // A change lists folders, too, and may hold what the next one waits for.
        const isAwaited = change.isAwaited && running === 0
        running += 1
        const done = make(files, change).finally(() => {
          running -= 1
        })
        made.push(done)
        return isAwaited ? done : undefined
      }
      shaky.whileListing = async (folder) => {
        if (folder.startsWith(`/${uuid}`)) await next()
      }
      while (!(await index.for(ada.user).isComplete())) {
        // A user without files has no listing.
        if (before.length === 0) next()
        await delay(1)
      }
      while (left.length > 0) await next()
      await Promise.all(made)
      shaky.whileListing = async () => {}
      const [known, there] = [await indexed(services, uuid, '/cold'), await listed(files, '/cold')]
      if (JSON.stringify(known) !== JSON.stringify(there))
        throw new Error(`The index has ${known.join(', ')}, and the storage ${there.join(', ')}.`)
      const { entries } = await index.for(ada.user).usage('/cold')
      if (entries !== there.length) throw new Error(`The index counts ${entries} entries.`)
    },
  )
  const runs = Number(process.env.TEST_RUNS ?? 60)
  const isAwaited = true
  const examples: [string[], Change[]][] = [
    // The folder was moved and removed before the listing came to it. The folder that the move has made stays.
    [
      ['/cold/a/a', '/cold/c/b/a'],
      [
        { op: 'makeDirectory', path: '/cold/c', to: '/cold/c', isAwaited },
        { op: 'move', path: '/cold/c/b', to: '/cold/b/a', isAwaited },
        { op: 'remove', path: '/cold/b/a', to: '/cold/a', isAwaited },
      ],
    ],
  ]
  await fc.assert(isRight, { numRuns: runs, endOnFailure: true, examples })
})

t.test('a storage that forgets its files has none in the index after a restart', async (t) => {
  const dataFolder = t.testdir()
  const start = async (mounts: Readonly<Record<string, string>>) => {
    const services = captureServices()
    const node = await createFilesNode({ mounts }, { dataFolder, plugins: [services.plugin] })
    t.teardown(() => node.stop())
    return { node, services }
  }
  const before = await start({ '/': 'memory', '/disk': 'local' })
  const ada = await before.node.signIn()
  const files = before.services.files.for(ada.user)
  await files.write('/forgotten', content('x'))
  await files.write('/disk/folder/kept', content('x'))
  const kept = (await before.services.index.for(ada.user).find('kept')).entries
  t.match(kept, [{ path: '/disk/folder/kept' }])
  await before.node.stop()

  // The disk has another place now, and its entries move with it.
  const after = await start({ '/': 'memory', '/other/place': 'local' })
  await after.services.untilIndexed(ada)
  const index = after.services.index.for(ada.user)
  t.strictSame((await index.find('forgotten')).entries, [])
  t.match((await index.find('kept')).entries, [{ id: kept[0]?.id, path: '/other/place/folder/kept' }])
  await t.rejects(index.usage('/disk'), { code: 'NOT_FOUND' })
  t.match(await index.usage(), { bytes: 1, isComplete: true })
})
