import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { shownName, storedForms } from '../../src/folders/stored-names.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, collect, temporaryFolder } from '../fixtures/storage-folder.ts'

async function opened(t: Test) {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
  const text = async (path: string) => (await collect((await backend.read(path)).content)).toString()
  const names = async (path: string) => (await Array.fromAsync(backend.list(path))).map(({ name }) => name)
  return { root, backend, text, names }
}

const composed = 'Caf\u00e9 \ud55c\uae00'
const decomposed = composed.normalize('NFD')

t.test(
  'a file that another program stored decomposed is found, listed and changed by its composed name',
  async (t) => {
    const { root, backend, text, names } = await opened(t)
    mkdirSync(join(root, decomposed))
    writeFileSync(join(root, decomposed, decomposed), 'foreign')
    const path = `/${composed}/${composed}`

    t.strictSame(await names('/'), [composed])
    t.strictSame(await names(`/${composed}`), [composed])
    t.equal((await backend.stat(path)).name, composed)
    t.equal(await text(path), 'foreign')
    await t.rejects(backend.write(path, chunks('x'), { ifAbsent: true }), { code: 'PRECONDITION_FAILED' })
    await t.rejects(
      async () => {
        await backend.move?.(path, `/${composed}/x`)
        await backend.move?.(`/${composed}/x`, `/${composed}`)
      },
      {
        code: 'CONFLICT',
      },
    )
    await backend.move?.(`/${composed}/x`, path)

    await backend.write(path, chunks('ours'))
    t.equal(await text(path), 'ours')
    t.strictSame(await names(`/${composed}`), [composed], 'one file, not two')
    await backend.remove(`/${composed}`)
    t.strictSame(await names('/'), [])
  },
)

t.test('an overwritten file keeps the name that it has on the disk', async (t) => {
  const { root, backend } = await opened(t)
  writeFileSync(join(root, decomposed), 'foreign')
  await backend.write(`/${composed}`, chunks('ours'))
  t.strictSame(
    readdirSync(root).filter((name) => name !== '.nodekeep'),
    [decomposed],
  )
})

t.test('the composed name is used, and listed once, if both forms exist', async (t) => {
  const { root, text, names } = await opened(t)
  writeFileSync(join(root, decomposed), 'decomposed')
  writeFileSync(join(root, composed), 'composed')
  t.strictSame(await names('/'), [composed])
  t.equal(await text(`/${composed}`), 'composed')
})

t.test('every listed name can be requested, even if the disk has invalid names', async (t) => {
  const { root, backend, names } = await opened(t)
  const odd = [
    decomposed,
    'half \u00e9 half e\u0301',
    '\u212a (the sign of kelvin)',
    '\u2126',
    '\ufb01 ligature',
    '\u0958'.repeat(80),
    'new\nline',
    '\u0001\u001b[2J',
    '%2e%2e',
    'back\\slash',
    '\u202egnp.exe',
  ]
  for (const name of odd) writeFileSync(join(root, name), 'x')
  writeFileSync(Buffer.concat([Buffer.from(`${root}/not-utf8-`), Buffer.from([0xff, 0xfe])]), 'x')
  const listed = await names('/')
  t.ok(listed.includes(composed))
  t.notOk(listed.some((name) => name.startsWith('not-utf8')))
  for (const name of listed) {
    t.equal(name, name.normalize('NFC'))
    t.equal((await backend.stat(`/${name}`)).name, name)
  }
})

t.test('a name can have 255 bytes, even if its decomposed form would be longer', async (t) => {
  const { backend, names, text } = await opened(t)
  const long = ['\u00e9'.repeat(127), 'a'.repeat(255), '\ud55c'.repeat(85)]
  for (const name of long) {
    await backend.write(`/${name}/${name}`, chunks(name))
    t.equal(await text(`/${name}/${name}`), name)
    await backend.move?.(`/${name}/${name}`, `/${name}/moved`)
    await backend.remove(`/${name}`)
  }
  t.strictSame(await names('/'), [])
})

t.test('the staging folder cannot be used by a path', async (t) => {
  const { backend, names } = await opened(t)
  await backend.write('/file', chunks('x'))
  for (const path of ['/.nodekeep', '/.nodekeep/x']) {
    await t.rejects(backend.stat(path), { code: 'NOT_FOUND' })
    await t.rejects(backend.read(path), { code: 'NOT_FOUND' })
    await t.rejects(names(path), { code: 'NOT_FOUND' })
    await t.rejects(backend.write(path, chunks('x')), { code: 'NOT_FOUND' })
    await t.rejects(backend.makeDirectory(path), { code: 'NOT_FOUND' })
    await t.rejects(backend.remove(path), { code: 'NOT_FOUND' })
    await t.rejects(async () => backend.move?.('/file', path), { code: 'NOT_FOUND' })
  }
  await backend.write('/user/.nodekeep', chunks('below the root, this name is like any other'))
  t.strictSame(await names('/user'), ['.nodekeep'])
})

t.test('a path that is longer than the system allows works', async (t) => {
  const { backend, text, names } = await opened(t)
  const path = `/${Array.from({ length: 20 }, (_, level) => `${level}-`.padEnd(255, 'x')).join('/')}`
  await backend.write(`${path}/file`, chunks('deep'))
  t.equal(await text(`${path}/file`), 'deep')
  t.strictSame(await names(path), ['file'])
  await backend.move?.(`${path}/file`, `${path}/moved`)
  await backend.remove(`/${path.split('/')[1]}`)
  t.strictSame(await names('/'), [])
})

t.test('stored and shown names match', async (t) => {
  t.strictSame(storedForms('plain'), ['plain'])
  t.strictSame(storedForms(composed), [composed, decomposed])
  t.equal(shownName(decomposed), composed)
  t.equal(shownName('\u212a'), null)
})
