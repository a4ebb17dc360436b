import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { countingBackend } from '../fixtures/counting-backend.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { createKeptNode, storages } from '../fixtures/kept-node.ts'

/** The group of a change that was made. */
async function groupOf(change: Promise<Response>): Promise<string> {
  const answer = await change
  const body = await answer.text()
  const group = answer.headers.get('x-nodekeep-undo')
  if (!answer.ok || group === null) throw new Error(`${answer.status} ${body}`)
  return group
}

/** Takes back a group. Returns the group of the undo. */
function undo(user: TestUser, group: string): Promise<string> {
  return groupOf(post(user, 'api/files/undo', { group }))
}

async function refusedUndo(user: TestUser, group: string) {
  const answer = await post(user, 'api/files/undo', { group })
  const { code, message, paths } = (await answer.json()) as {
    code: string
    message: string
    paths?: string[]
  }
  return { status: answer.status, code, message, paths }
}

/** All files and folders of a user, with the content of files. */
async function tree(user: TestUser, folder = ''): Promise<Record<string, string>> {
  const { entries } = (await (await get(user, 'api/files/list', folder || '/')).json()) as {
    entries: { name: string; type: string }[]
  }
  const found: Record<string, string> = {}
  for (const { name, type } of entries) {
    const path = `${folder}/${name}`
    if (type === 'file') found[path] = await (await get(user, 'read', path)).text()
    else Object.assign(found, { [path]: '' }, await tree(user, path))
  }
  return found
}

async function trashed(user: TestUser): Promise<string[]> {
  const { items } = (await (await user.fetch('/api/files/trash')).json()) as { items: { path: string }[] }
  return items.map(({ path }) => path)
}

const changes: Record<string, (user: TestUser) => Promise<Response>> = {
  'a new file': (user) => put(user, '/new/file', 'new'),
  'an overwritten file': (user) => put(user, '/a', 'changed'),
  'a new folder': (user) => post(user, 'mkdir', { path: '/empty2' }),
  'a deleted file': (user) => post(user, 'delete', { path: '/a' }),
  'a deleted folder': (user) => post(user, 'delete', { path: '/folder' }),
  'a deleted empty folder': (user) => post(user, 'delete', { path: '/empty', onlyIfEmpty: true }),
  'a moved file': (user) => post(user, 'move', { source: '/a', destination: '/deep/er/a' }),
  'a moved folder': (user) => post(user, 'move', { source: '/folder', destination: '/renamed' }),
  'a file moved over a file': (user) =>
    post(user, 'move', { source: '/a', destination: '/b', overwrite: true }),
  'a folder moved over a folder': (user) =>
    post(user, 'move', { source: '/folder', destination: '/other', overwrite: true }),
  'a folder moved over a file': (user) =>
    post(user, 'move', { source: '/folder', destination: '/b', overwrite: true }),
  'a copied file': (user) => post(user, 'api/files/copy', { source: '/a', destination: '/copy' }),
  'a copied folder': (user) => post(user, 'api/files/copy', { source: '/folder', destination: '/copy' }),
  'a file copied over a file': (user) =>
    post(user, 'api/files/copy', { source: '/a', destination: '/b', overwrite: true }),
  'a folder copied over a folder': (user) =>
    post(user, 'api/files/copy', { source: '/folder', destination: '/other', overwrite: true }),
}

/** These replace a file by a file. */
const replacesFile = ['an overwritten file', 'a file moved over a file', 'a file copied over a file']

const moves = Object.keys(changes).filter((name) => /moved/.test(name))

async function fill(user: TestUser): Promise<void> {
  await put(user, `/a`, 'first a')
  await put(user, `/a`, 'a')
  await put(user, `/b`, 'b')
  await put(user, `/folder/x`, 'x')
  await put(user, `/folder/sub/y`, 'y')
  await put(user, `/other/z`, 'z')
  await post(user, 'mkdir', { path: `/empty` })
}

/** Leaves out folders that a change has made on its way: a folder above a new file, and above a destination. */
function withoutParents(found: Record<string, string>): Record<string, string> {
  const { '/new': _new, '/deep': _deep, '/deep/er': _er, ...rest } = found
  return rest
}

for (const kind of storages) {
  t.test(`each change is taken back, and its undo, and the undo of that: ${kind}`, async (t) => {
    const { node } = await createKeptNode(t, kind)
    const keepsVersions = kind === 'local' || kind === 'memory'
    const filled = async () => {
      const user = await node.signIn()
      await fill(user)
      return { user, before: await tree(user) }
    }
    // The next change goes on with the files of one that was taken back, which are as before.
    let { user, before } = await filled()
    for (const [name, change] of Object.entries(changes)) {
      if (kind === 'copies' && moves.includes(name)) {
        t.equal((await change(user)).headers.get('x-nodekeep-undo'), null, name)
        ;({ user, before } = await filled())
        continue
      }
      if (!keepsVersions && replacesFile.includes(name)) {
        const answer = await change(user)
        const group = answer.headers.get('x-nodekeep-undo')
        if (group !== null)
          t.match(await refusedUndo(user, group), { status: 409, message: /kept: "\/a"/ }, name)
        ;({ user, before } = await filled())
        continue
      }
      const group = await groupOf(change(user))
      const after = await tree(user)
      t.notSame(after, before, name)
      const back = await undo(user, group)
      t.strictSame(withoutParents(await tree(user)), before, `${name} is taken back`)
      const again = await undo(user, back)
      t.strictSame(await tree(user), after, `${name} is there again`)
      await undo(user, again)
      t.strictSame(withoutParents(await tree(user)), before, `${name} is taken back again`)
    }
  })
}

/** A change, and what its undo needs of the storage. */
type Step = readonly [needs: string, change: (user: TestUser) => Promise<Response>]

/** The id of what is kept, of an item of the trash or of a version. */
async function firstId(list: Promise<Response>): Promise<string> {
  const { items = [], versions = [] } = (await (await list).json()) as Record<string, { id: string }[]>
  return [...items, ...versions][0]?.id ?? ''
}

/** Changes of the same files, one after the other. */
const steps: readonly Step[] = [
  ['', (user) => put(user, '/new', 'new')],
  ['versions', (user) => put(user, '/a', 'second a')],
  ['versions', (user) => put(user, '/a', 'third a')],
  ['', (user) => post(user, 'delete', { path: '/a' })],
  ['', (user) => put(user, '/a', 'another file')],
  ['', (user) => post(user, 'delete', { path: '/a' })],
  [
    '',
    async (user) =>
      post(user, 'api/files/trash/restore', { id: await firstId(user.fetch('/api/files/trash?limit=1')) }),
  ],
  ['moves', (user) => post(user, 'move', { source: '/a', destination: '/c' })],
  ['moves', (user) => post(user, 'move', { source: '/c', destination: '/a' })],
  ['versions', (user) => put(user, '/b', 'second b')],
  [
    'versions',
    async (user) => {
      const id = await firstId(get(user, 'api/files/versions', '/b'))
      return post(user, 'api/files/versions/restore', { path: '/b', id })
    },
  ],
  ['moves versions', (user) => post(user, 'move', { source: '/b', destination: '/a', overwrite: true })],
  ['versions', (user) => put(user, '/a', 'fourth a')],
  ['', (user) => post(user, 'api/files/copy', { source: '/folder', destination: '/copy' })],
  ['', (user) => post(user, 'delete', { path: '/folder/sub' })],
  ['', (user) => post(user, 'delete', { path: '/folder' })],
  ['', (user) => post(user, 'mkdir', { path: '/folder' })],
  ['', (user) => put(user, '/folder/x', 'another x')],
  ['moves', (user) => post(user, 'move', { source: '/copy', destination: '/folder', overwrite: true })],
  ['versions', (user) => put(user, '/folder/x', 'last x')],
]

for (const kind of [...storages, 'copies with versions'] as const) {
  t.test(`changes are taken back one after the other, forward again, and back again: ${kind}`, async (t) => {
    const counting = countingBackend()
    const { node } =
      kind === 'copies with versions'
        ? await createKeptNode(t, 'memory', { mounts: { '/': 'counting' } }, { plugins: [counting.plugin] })
        : await createKeptNode(t, kind)
    const lacks = { local: [], memory: [], moves: ['versions'], copies: ['versions', 'moves'] } as const
    const lacking: readonly string[] = kind === 'copies with versions' ? ['moves'] : lacks[kind]
    const user = await node.signIn()
    await fill(user)
    const trees = [await tree(user)]
    let groups: string[] = []
    for (const [needs, change] of steps) {
      if (lacking.some((one) => needs.includes(one))) continue
      groups.push(await groupOf(change(user)))
      trees.push(await tree(user))
    }
    t.ok(groups.length > 8)
    for (const direction of ['back', 'forward', 'back again']) {
      trees.reverse()
      const undone: string[] = []
      for (const [step, group] of groups.toReversed().entries()) {
        undone.push(await undo(user, group))
        t.strictSame(await tree(user), trees[step + 1], `${direction}, step ${step + 1}`)
      }
      groups = undone
    }
  })
}

t.test('what was taken back, or is there again, counts as changed, also after a restart', async (t) => {
  const dataFolder = t.testdir()
  let node = await createFilesNode({}, { dataFolder })
  t.teardown(() => node.stop())
  let ada = await node.signIn('owner')
  await fill(ada)
  const [first, second] = [await groupOf(put(ada, '/a', '1')), await groupOf(put(ada, '/a', '2'))]
  t.match(await refusedUndo(ada, first), { status: 409, paths: ['/a'] }, 'the second one stands')
  const back = await undo(ada, second)
  t.match(await refusedUndo(ada, second), { status: 409, paths: ['/a'] }, 'it was taken back already')
  await undo(ada, back)
  t.match(await refusedUndo(ada, first), { status: 409, paths: ['/a'] }, 'the second one stands again')
  const run = { 'x-nodekeep-group': 'run' }
  await put(ada, '/b', '1', run)
  const other = await groupOf(put(ada, '/b', '2'))
  await undo(ada, other)
  await undo(ada, 'run')
  await put(ada, '/b', '3', run)
  t.match(await refusedUndo(ada, other), { status: 409, paths: ['/b'] }, 'a later change of a former group')

  const [third, fourth] = [await groupOf(put(ada, '/c', '3')), await groupOf(put(ada, '/c', '4'))]
  await undo(ada, fourth)
  await node.stop()
  node = await createFilesNode({}, { dataFolder })
  ada = await node.signIn('owner')
  await undo(ada, third)
  t.notOk('/c' in (await tree(ada)))
})

t.test('all changes of a group are taken back together, newest first', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await fill(ada)
  const before = await tree(ada)
  const run = { 'x-nodekeep-group': 'run' }
  await post(ada, 'mkdir', { path: '/upload' }, run)
  await put(ada, '/upload/1', 'one', run)
  await put(ada, '/upload/in/2', 'two', run)
  await put(ada, '/a', 'again', run)
  await put(ada, '/a', 'and again', run)
  await post(ada, 'move', { source: '/a', destination: '/upload/a' }, run)
  await post(ada, 'delete', { path: '/folder' }, run)
  await post(ada, 'move', { source: '/upload', destination: '/folder' }, run)
  const after = await tree(ada)
  const answer = await post(ada, 'api/files/undo', { group: 'run' }, run)
  t.match(await answer.json(), { success: true, changes: 8 })
  t.strictSame(await tree(ada), before)
  t.strictSame(await trashed(ada), ['/upload'], 'what was new goes to the trash as one item')
  const back = answer.headers.get('x-nodekeep-undo') ?? ''
  t.not(back, 'run', 'the undo is a group of its own')
  await undo(ada, back)
  t.strictSame(await tree(ada), after)
})

t.test('nothing is taken back of what was changed since', async (t) => {
  const dataFolder = t.testdir()
  const node = await createFilesNode({}, { dataFolder })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const disk = join(dataFolder, 'files', ada.user.uuid)
  await fill(ada)
  const run = { 'x-nodekeep-group': 'run' }
  const groups = {
    written: await groupOf(put(ada, '/a', 'changed')),
    moved: await groupOf(post(ada, 'move', { source: '/folder', destination: '/renamed' })),
    deleted: await groupOf(post(ada, 'delete', { path: '/other' })),
    made: await groupOf(post(ada, 'mkdir', { path: '/made' })),
  }
  await put(ada, '/run/1', '1', run)
  await put(ada, '/run/2', '2', run)
  await put(ada, '/a', 'later')
  await put(ada, '/renamed/sub/new', 'later')
  await put(ada, '/other', 'later')
  await put(ada, '/made/new', 'later')
  await put(ada, '/run/2', 'later')
  const now = await tree(ada)
  const expected = { written: '/a', moved: '/renamed/sub/new', deleted: '/other' }
  for (const [name, path] of Object.entries(expected)) {
    const refused = await refusedUndo(ada, groups[name as keyof typeof groups])
    t.match(refused, { status: 409, code: 'CONFLICT', message: /was changed since: "/, paths: [path] }, name)
  }
  t.match(await refusedUndo(ada, 'run'), { status: 409, paths: ['/run/2'] }, 'nor of the rest of the group')
  await undo(ada, groups.made)
  t.strictSame(await tree(ada), now, 'a folder that is in use stays')

  const written = await groupOf(put(ada, '/b', 'changed'))
  await writeFile(join(disk, 'b'), 'by another program')
  t.match(await refusedUndo(ada, written), { status: 409, paths: ['/b'] }, 'nor what another program changed')
  const removed = await groupOf(post(ada, 'delete', { path: '/b' }))
  await writeFile(join(disk, 'b'), 'in its place')
  t.match(await refusedUndo(ada, removed), { status: 409, paths: ['/b'] })
  await rm(join(disk, 'b'))
  await undo(ada, removed)
  t.match(await tree(ada), { '/b': 'by another program' })
  t.match(await refusedUndo(ada, removed), { status: 409, paths: ['/b'] }, 'it was taken back already')
})

t.test('a refusal names what is not kept, and at most 20 paths', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bert = await node.signIn()
  const run = { 'x-nodekeep-group': 'run' }
  await put(ada, '/gone', 'x')
  await put(ada, '/a', 'x')
  await post(ada, 'delete', { path: '/a' }, run)
  await post(ada, 'delete', { path: '/gone', permanent: true }, run)
  t.match(await refusedUndo(ada, 'run'), {
    status: 409,
    message: /not all of it is kept: "\/gone"/,
    paths: ['/gone'],
  })
  t.match(await trashed(ada), ['/a'], 'nothing was taken back')
  const purged = await groupOf(post(ada, 'delete', { path: '/none' }).then(() => put(ada, '/b', 'x')))
  const deleted = await groupOf(post(ada, 'delete', { path: '/b' }))
  await post(ada, 'api/files/trash/empty', {})
  t.match(await refusedUndo(ada, deleted), { status: 409, paths: ['/b'] })
  t.match(await refusedUndo(ada, purged), { status: 409, paths: ['/b'] })

  const many = { 'x-nodekeep-group': 'many' }
  for (let i = 0; i < 25; i += 1) await put(ada, `/many/${i}`, 'x', many)
  await post(ada, 'delete', { path: '/many' })
  t.match(await refusedUndo(ada, 'many'), { status: 409, paths: ['/many'] }, 'the folder that went')
  for (let i = 0; i < 25; i += 1) await put(ada, `/more/${i}`, 'x', { 'x-nodekeep-group': 'more' })
  for (let i = 0; i < 25; i += 1) await put(ada, `/more/${i}`, 'y')
  const { paths = [], message } = await refusedUndo(ada, 'more')
  t.equal(paths.length, 20)
  t.match(message, / and 22 more\.$/)

  t.match(await refusedUndo(bert, 'many'), { status: 404 }, 'only the own changes')
  t.match(await refusedUndo(ada, 'never'), { status: 404, message: /no such changes/ })
  t.match(await refusedUndo(ada, 'two words'), { status: 400 })
})

t.test('a move to another mount, which removes its source for good, offers no undo', async (t) => {
  const node = await createFilesNode({ mounts: { '/cold': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a', 'x')
  const moved = await post(ada, 'move', { source: '/a', destination: '/cold/a' })
  t.match([moved.status, moved.headers.get('x-nodekeep-undo')], [200, null])
  const back = await groupOf(post(ada, 'api/files/copy', { source: '/cold/a', destination: '/a' }))
  await undo(ada, back)
  t.strictSame(await tree(ada), { '/cold': '', '/cold/a': 'x' })
})

t.test('without a trash or versions, nothing is taken back that would be lost', async (t) => {
  const node = await createFilesNode({ trash: false, versions: false })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const refused: Record<string, (headers: Record<string, string>) => Promise<Response>> = {
    made: (headers) => put(ada, '/a', 'x', headers),
    written: (headers) => put(ada, '/a', 'y', headers),
    copied: (headers) => post(ada, 'api/files/copy', { source: '/a', destination: '/c' }, headers),
  }
  for (const [group, change] of Object.entries(refused)) {
    const { status, headers } = await change({ 'x-nodekeep-group': group })
    t.match([status, headers.get('x-nodekeep-undo')], [200, null], 'no undo is offered')
    t.match(await refusedUndo(ada, group), { status: 409, message: /kept: "\/[ac]"/ })
  }
  await undo(ada, await groupOf(post(ada, 'move', { source: '/a', destination: '/b' })))
  t.strictSame(await tree(ada), { '/a': 'y', '/c': 'y' })
})
