import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { takeSnapshot } from '@nodekeep/kernel/testing'
import { isNodekeepError, type StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, collect, contentsOf, leftovers, temporaryFolder } from './fixtures/storage-folder.ts'

const secret = 'a secret outside'

/** Opens a backend whose root contains links, as a person with access to the folder could make them. */
async function planted(t: Test) {
  const base = temporaryFolder(t)
  const [root, outside] = [join(base, 'root'), join(base, 'outside')]
  mkdirSync(join(root, 'user', 'real'), { recursive: true })
  mkdirSync(join(outside, 'folder'), { recursive: true })
  writeFileSync(join(outside, 'secret'), secret)
  writeFileSync(join(outside, 'folder', 'secret'), secret)
  writeFileSync(join(root, 'user', 'real', 'file'), 'inside')
  const links: Record<string, string> = {
    'to-file': join(outside, 'secret'),
    'to-folder': outside,
    'to-etc': '/etc',
    'to-root': '/',
    'to-itself': 'to-itself',
    'to-nothing': join(outside, 'nothing'),
    'to-inside': 'real',
    upwards: '..',
    'real/upwards': '../..',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, 'user', name))
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  return { root, outside, backend, links: Object.keys(links) }
}

/** Uses a path in every way. Returns the code of each error, and `done` for a success. */
async function attempts(backend: StorageBackend, path: string): Promise<Record<string, string>> {
  const ways: Record<string, () => Promise<unknown>> = {
    stat: () => backend.stat(path),
    read: async () => collect((await backend.read(path)).content),
    list: () => Array.fromAsync(backend.list(path)),
    'remove a version': () => backend.remove(path, { ifRevision: 'x' }),
    'remove if empty': () => backend.remove(path, { onlyIfEmpty: true }),
    'move away': async () => backend.move?.(path, '/user/moved'),
    'write if absent': () => backend.write(path, chunks('written'), { ifAbsent: true }),
    'make a folder': () => backend.makeDirectory(path),
    'move onto': async () => backend.move?.('/user/real/file', path, { overwrite: true }),
  }
  const outcomes: Record<string, string> = {}
  for (const [name, way] of Object.entries(ways)) {
    outcomes[name] = await way().then(
      () => 'done',
      (error: unknown) => (isNodekeepError(error) ? error.code : String(error)),
    )
  }
  return outcomes
}

t.test('a link at the end of a path is not found, and only a written file replaces it', async (t) => {
  const { backend, links, outside, root } = await planted(t)
  const before = contentsOf(outside)
  for (const link of links) {
    t.strictSame(
      await attempts(backend, `/user/${link}`),
      {
        stat: 'NOT_FOUND',
        read: 'NOT_FOUND',
        list: 'NOT_FOUND',
        'remove a version': 'PRECONDITION_FAILED',
        'remove if empty': 'CONFLICT',
        'move away': 'NOT_FOUND',
        'write if absent': 'PRECONDITION_FAILED',
        'make a folder': 'CONFLICT',
        'move onto': 'CONFLICT',
      },
      link,
    )
    t.ok(lstatSync(join(root, 'user', link)).isSymbolicLink(), `${link} is still the same link`)
    await backend.write(`/user/${link}`, chunks('x'), { keepReplacedAt: `/kept/${link}` })
    t.notOk(existsSync(join(root, 'kept')), 'a link is not kept')
    for (const text of ['short', 'x'.repeat(100_000)]) {
      await backend.write(`/user/${link}`, chunks(text))
      t.equal((await collect((await backend.read(`/user/${link}`)).content)).toString(), text)
    }
  }
  t.strictSame(contentsOf(outside), before)
})

t.test('a link is removed by its own path, and its target stays', async (t) => {
  const { backend, links, outside, root } = await planted(t)
  const before = contentsOf(outside)
  for (const link of links) {
    await backend.remove(`/user/${link}`)
    t.equal(lstatSync(join(root, 'user', link), { throwIfNoEntry: false }), undefined, link)
    await t.rejects(backend.remove(`/user/${link}`), { code: 'NOT_FOUND' })
  }
  t.strictSame(contentsOf(outside), before)
  t.ok(existsSync('/etc/passwd'))
  t.strictSame(contentsOf(root), { '/user': null, '/user/real': null, '/user/real/file': 'inside' })
})

t.test('a path through a link is not found', async (t) => {
  const { backend, links, outside } = await planted(t)
  const before = contentsOf(outside)
  for (const link of links) {
    for (const below of ['secret', 'folder/secret', 'passwd', 'new', 'file', 'user/real/file']) {
      const outcomes = await attempts(backend, `/user/${link}/${below}`)
      t.notOk(Object.values(outcomes).includes('done'), `/user/${link}/${below}`, { outcomes })
    }
  }
  t.strictSame(contentsOf(outside), before)
  t.equal((await collect((await backend.read('/user/real/file')).content)).toString(), 'inside')
})

t.test('links are not listed', async (t) => {
  const { backend } = await planted(t)
  t.strictSame(
    (await Array.fromAsync(backend.list('/user'))).map(({ name }) => name),
    ['real'],
  )
  t.strictSame(
    (await Array.fromAsync(backend.list('/user/real'))).map(({ name }) => name),
    ['file'],
  )
})

t.test('removing a folder removes the links in it, not their targets', async (t) => {
  const { backend, outside, root } = await planted(t)
  const before = contentsOf(outside)
  await backend.remove('/user')
  await backend.close()
  t.strictSame(contentsOf(outside), before)
  t.strictSame(leftovers(root), [])
  t.ok(existsSync('/etc'))
})

t.test('a snapshot has no links, and does not follow them', async (t) => {
  const { backend } = await planted(t)
  const snapshot = await takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal))
  t.strictSame(
    (await Array.fromAsync(snapshot.list('/user'))).map(({ name }) => name),
    ['real'],
  )
  await t.rejects(snapshot.read('/user/to-file'), { code: 'NOT_FOUND' })
  await t.rejects(snapshot.read('/user/to-folder/secret'), { code: 'NOT_FOUND' })
  await snapshot.release()
})

t.test('a staging folder that is a link is refused', async (t) => {
  const base = temporaryFolder(t)
  mkdirSync(join(base, 'root'))
  mkdirSync(join(base, 'outside'))
  writeFileSync(join(base, 'outside', 'file'), 'kept')
  symlinkSync('../outside', join(base, 'root', '.nodekeep'))
  await t.rejects(openLocalBackend({ root: join(base, 'root') }), { code: 'CONFLICT' })
  t.equal(readFileSync(join(base, 'outside', 'file'), 'utf8'), 'kept')
})

for (const kind of ['folder', 'file'] as const) {
  t.test(
    `a ${kind} that another program keeps swapping with a link never leads out of the root`,
    async (t) => {
      const { root, outside, backend } = await planted(t)
      mkdirSync(join(root, 'user', 'swapped'))
      writeFileSync(join(root, 'user', 'swapped', 'secret'), 'inside')
      const before = contentsOf(outside)
      const swapped =
        kind === 'folder' ? ['user/swapped', outside] : ['user/swapped/secret', join(outside, 'secret')]
      const script = fileURLToPath(new URL('fixtures/swap-with-link.ts', import.meta.url))
      const child = spawn(process.execPath, [script, join(root, swapped[0] ?? ''), swapped[1] ?? ''], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      t.teardown(() => child.kill('SIGKILL'))
      await once(child.stdout, 'data')
      const outcomes = new Map<string, number>()
      const count = (outcome: string) => outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      for (let round = 0; round < 100 || !outcomes.has('read: inside'); round += 1) {
        await Promise.all([
          backend.read('/user/swapped/secret').then(
            async ({ content }) => count(`read: ${await collect(content)}`),
            () => count('not read'),
          ),
          backend.write(`/user/swapped/new-${round % 5}`, chunks('new')).catch(() => {}),
          backend.write('/user/swapped/secret', chunks('inside')).catch(() => {}),
          backend.remove(`/user/swapped/new-${(round + 2) % 5}`).catch(() => {}),
          backend.move?.('/user/swapped/secret', '/user/swapped/moved', { overwrite: true }).catch(() => {}),
          Array.fromAsync(backend.list('/user/swapped')).catch(() => {}),
          backend.makeDirectory(`/user/swapped/made-${round}`).catch(() => {}),
          backend.remove('/user/swapped/secret').catch(() => {}),
        ])
      }
      child.kill('SIGKILL')
      await once(child, 'close')
      t.notOk([...outcomes.keys()].includes(`read: ${secret}`), 'no file outside the root was read')
      t.strictSame(contentsOf(outside), before, 'no file outside the root was changed')
    },
  )
}
