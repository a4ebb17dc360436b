import t from 'tap'
import { creator } from './fixtures/creator.ts'
import { editor, filler, longPathMaker } from './fixtures/editor.ts'
import { linker } from './fixtures/linker.ts'
import { createProgramNode } from './fixtures/program-node.ts'
import { remover } from './fixtures/remover.ts'

const notes = {
  '/notes/in.txt': 'grüße',
  '/notes/old.txt': 'old',
  '/notes/gone.txt': 'gone',
  '/notes/still/there.txt': 'there',
  '/secret.txt': 'secret',
}
const signIn = await createProgramNode(t)
const writable = [{ path: '/notes', as: '/data', writable: true }]

t.test('the changes of a program in a writable folder are stored, and nothing else changes', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  const ended = { success: true, exitCode: 0, stdout: 'grüße', stderr: '' }
  t.match(await ada.run(editor(), { folders: writable }), { status: 200, body: ended })
  t.equal(await ada.read('/notes/deep/out.txt'), 'grüße')
  t.equal(await ada.read('/notes/deep/new.txt'), 'old')
  t.equal(await ada.read('/notes/old.txt'), null)
  t.equal(await ada.read('/notes/gone.txt'), null)
  t.equal(await ada.read('/notes/in.txt'), 'grüße')
  t.equal(await ada.read('/notes/still/there.txt'), null)
  t.equal(await ada.read('/notes/deep/still/there.txt'), 'there')
  t.equal(await ada.read('/secret.txt'), 'secret')
})

t.test('the changes of a program name it, and those of a run are one group', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  await ada.run(editor(), { folders: writable })
  await ada.run(creator('made'), { folders: writable })
  const runs = Map.groupBy(await ada.newestChanges(), ({ group }) => group)
  const [ofCreator = [], ofEditor = []] = [...runs.values()].filter(([first]) => first?.by === 'wasm')
  t.equal(runs.size, Object.keys(notes).length + 2, 'each upload is a group of its own')
  t.ok(ofEditor.length > 1)
  const ids = [ofEditor, ofCreator].map((changes) => {
    const [id, ...others] = new Set(changes.map(({ maker }) => maker?.id))
    t.strictSame(others, [])
    for (const { maker } of changes) t.match(maker, { kind: 'program', user: ada.uuid })
    return id
  })
  t.match(ids, [/^[0-9a-f]{64}$/, /^[0-9a-f]{64}$/])
  t.not(ids[0], ids[1])
})

t.test('a program gets an error if it changes a folder that it may only read', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  const { status, body } = await ada.run(editor(), { folders: [{ path: '/notes', as: '/data' }] })
  t.match({ status, ...body }, { status: 200, success: false, stdout: 'grüße' })
  t.equal(await ada.read('/notes/deep/out.txt'), null)
  t.equal(await ada.read('/notes/old.txt'), 'old')
})

t.test(
  'a program can use the names that files can have, and they are stored in one Unicode form',
  async (t) => {
    const ada = await signIn()
    await ada.store({ '/w/u\u0308': 'old' })
    const program = creator('e\u0301', '\u00e9', 'u\u0308', 'a\\b')
    const ended = await ada.run(program, { folders: [{ path: '/w', as: '/data', writable: true }] })
    t.match(ended, { status: 200, body: { exitCode: 3029 } }, 'the program cannot use the last name')
    t.equal(await ada.read('/w/\u00e9'), '\u00e9')
    t.equal(await ada.read('/w/\u00fc'), 'u\u0308')
  },
)

t.test('a program removes all files while it lists them, with threads, too', async (t) => {
  const names = Array.from({ length: 20 }, (_, index) => `/w/${'n'.repeat(index)}${index}`)
  const memories = {
    own: '(memory (export "memory") 1)',
    'that of threads': '(import "env" "memory" (memory 1 10 shared)) (export "memory" (memory 0))',
  }
  for (const [what, memory] of Object.entries(memories)) {
    const ada = await signIn()
    await ada.store(Object.fromEntries(names.map((name) => [name, name])))
    await ada.makeFolder('/w/empty')
    const ended = await ada.run(remover(memory), { folders: [{ path: '/w', as: '/data', writable: true }] })
    t.match(ended, { status: 200, body: { exitCode: names.length } }, what)
    t.strictSame(await ada.list('/w'), [], what)
  }
})

t.test('a file that a program moves keeps its time', async (t) => {
  const ada = await signIn()
  await ada.store(notes, { 'x-oc-mtime': '981173106' })
  t.equal((await ada.run(editor(), { folders: writable })).status, 200)
  t.equal(await ada.modifiedOf('/notes/deep/new.txt'), '2001-02-03T04:05:06.000Z')
  t.ok((await ada.modifiedOf('/notes/deep/out.txt')) > '2026', 'a new file has the time of the run')
})

t.test('a program cannot create links', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  t.match(await ada.run(linker, { folders: writable }), {
    status: 200,
    body: { success: false, exitCode: 58_058 },
  })
})

t.test('a program that traps changes nothing', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  const trap = await ada.run(editor('(unreachable)'), { folders: writable })
  t.match(trap, {
    status: 422,
    body: { error: true, code: 'UNPROCESSABLE', message: /trapped: unreachable/ },
  })
  t.equal(await ada.read('/notes/old.txt'), 'old')
  t.equal(await ada.read('/notes/deep/out.txt'), null)
})

t.test('folders have limits, both when they are copied in and when a program fills them', async (t) => {
  const ada = await (await createProgramNode(t, { folderMB: 3, folderEntries: 5 }))()
  await ada.store({ '/small/a': 'a', '/large/a': 'x'.repeat(4 * 2 ** 20) })
  await ada.store(Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [`/many/${name}`, name])))
  const refused = async (path: string) => {
    const { status, body } = await ada.run(filler, { folders: [{ path, as: '/data', writable: true }] })
    return { status, message: body.message }
  }
  t.match(await refused('/large'), { status: 422, message: /limit of 3 MiB/ })
  t.match(await refused('/many'), { status: 422, message: /limit of 5 files and folders/ })
  t.match(await refused('/small'), { status: 422, message: /limit of 3 MiB .* was reached/ })
  t.equal(await ada.read('/small/filled'), null)
})

t.test('a path that files cannot have is refused, and nothing is stored', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  const { status, body } = await ada.run(longPathMaker(), { folders: writable })
  t.match({ status, ...body }, { status: 422, message: /None of .* changes was stored: .* longer than 4096/ })
  t.equal(await ada.read('/notes/old.txt'), 'old')
  t.match(await ada.run(editor(), { folders: writable }), { status: 200 }, 'the node goes on')
})

t.test('a folder can have almost any path in a program', async (t) => {
  const ada = await signIn()
  await ada.store(notes)
  for (const paths of [
    ['/workspace', '/tmp', '/notes', '/bin/mine', '/grüße und mehr'],
    ['/workspace/in/here', '/data'],
  ]) {
    const folders = paths.map((as) => ({ path: '/notes', as }))
    t.equal((await ada.run(editor(), { folders })).status, 200, paths.join())
  }
  for (const as of ['/', '/bin', '/dev']) {
    const { status, body } = await ada.run(editor(), { folders: [{ path: '/notes', as }] })
    t.match({ status, ...body }, { status: 400, message: /another path with "as"/ }, as)
  }
})
