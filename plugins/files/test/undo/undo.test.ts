import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { createKeptNode, storages } from '../fixtures/kept-node.ts'

// Nodes start and stop, also on a busy machine.
t.setTimeout(120_000)

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
    for (const [name, change] of Object.entries(changes)) {
      const user = await node.signIn()
      await fill(user)
      const before = await tree(user)
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

t.test('without a trash or versions, nothing is taken back that would be lost', async (t) => {
  const node = await createFilesNode({ trash: false, versions: false })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const made = await groupOf(put(ada, '/a', 'x'))
  t.match(await refusedUndo(ada, made), { status: 409, message: /kept: "\/a"/ })
  const written = await groupOf(put(ada, '/a', 'y'))
  t.match(await refusedUndo(ada, written), { status: 409, message: /kept: "\/a"/ })
  await undo(ada, await groupOf(post(ada, 'move', { source: '/a', destination: '/b' })))
  t.strictSame(await tree(ada), { '/a': 'y' })
})
