import assert from 'node:assert/strict'
import { assertFails } from '../failures.ts'
import { assertEntry, assertListed, entries, names, put, text } from './assertions.ts'
import { pattern, stream } from './bytes.ts'
import { oddNames, unorderedNames } from './odd-names.ts'
import { movesFiles, movesFolders, type StorageCheck } from './subject.ts'

/** Beginnings of names in a folder of several pages. In the order of bytes, the last two are the other way round. */
const starts = ['a', '\u{1f600}', '\uff5e'] as const

/** Of this number of entries in that folder, one is a folder. */
const entriesPerFolder = 7

/** The most files that stay in a folder while others come and go. Two pages of them are enough. */
const mostThatStay = 200

function startOf(index: number): string {
  return starts[index % starts.length] as string
}

/** @param pageEntries the entries that the storage lists at a time */
export function listingChecks(check: StorageCheck, pageEntries: number): void {
  check('the root exists from the start, and is empty', async (storage) => {
    assertEntry(await storage.stat('/'), { name: '/', type: 'directory', size: 0 })
    assert.deepEqual(await entries(storage, '/'), [])
    await storage.makeDirectory('/')
  })

  check('a listing has the entries of its folder only, as `stat` returns them', async (storage) => {
    await put(storage, '/folder/inner/deep', 'x')
    await put(storage, '/folder/file', 'five!')
    await put(storage, '/folders', 'x')
    await storage.makeDirectory('/folder/empty')
    await put(storage, '/folder/overwritten', 'first')
    await put(storage, '/folder/overwritten', 'second')
    const listed = await entries(storage, '/folder')
    assert.deepEqual(
      listed.map(({ name, type, size }) => [name, type, size]),
      [
        ['empty', 'directory', 0],
        ['file', 'file', 5],
        ['inner', 'directory', 0],
        ['overwritten', 'file', 6],
      ],
    )
    for (const entry of listed) assertListed(entry, await storage.stat(`/folder/${entry.name}`))
    assert.deepEqual(await names(storage, '/'), ['folder', 'folders'])
    assert.deepEqual(await names(storage, '/folder/empty'), [])
  })

  check('a listing tells the revisions of all files, or of none', async (storage) => {
    await put(storage, '/folder/empty', '')
    await put(storage, '/folder/small', 'x')
    await put(storage, '/folder/small', 'y')
    await storage.write('/folder/large', stream(pattern(300_000)))
    const revisions = (await entries(storage, '/folder')).map(({ revision }) => revision !== undefined)
    assert.equal(revisions.length, 3)
    assert.equal(new Set(revisions).size, 1, 'either each file has a revision, or no file has one')
  })

  check('by its revision or etag, a listing shows whether the content of a file changed', async (storage) => {
    const versionOf = async (name: string) => {
      const found = (await entries(storage, '/folder')).find((entry) => entry.name === name)
      return found?.revision ?? found?.etag
    }
    await put(storage, '/folder/file', 'one')
    const first = await versionOf('file')
    await put(storage, '/folder/other', 'x')
    assert.equal(await versionOf('file'), first, 'a file that stays as it is keeps it')
    await put(storage, '/folder/file', 'two')
    assert.notEqual(await versionOf('file'), first, 'another content of the same size changes it')
  })

  check('a listing is sorted by UTF-16 code units', async (storage) => {
    for (const name of unorderedNames) await put(storage, `/sorted/${name}`, name)
    assert.deepEqual(await names(storage, '/sorted'), [...unorderedNames].sort())
  })

  check('names stay as they are, whatever characters they contain', async (storage) => {
    for (const name of oddNames) await put(storage, `/odd/${name}/${name}`, name)
    assert.deepEqual(await names(storage, '/odd'), [...oddNames].sort())
    for (const name of oddNames) {
      assert.deepEqual(await names(storage, `/odd/${name}`), [name])
      assert.equal((await storage.stat(`/odd/${name}/${name}`)).name, name)
      assert.equal(await text(storage, `/odd/${name}/${name}`), name)
    }
    for (const name of oddNames) {
      if (movesFiles(storage)) await storage.move(`/odd/${name}/${name}`, `/moved/${name}`)
      await storage.remove(`/odd/${name}`)
    }
    assert.deepEqual(await names(storage, '/odd'), [])
    if (movesFiles(storage)) assert.deepEqual(await names(storage, '/moved'), [...oddNames].sort())
  })

  check('folders can be nested 64 levels deep', async (storage) => {
    const deep = `/${Array.from({ length: 64 }, (_, level) => `level-${level}`).join('/')}`
    await put(storage, `${deep}/file`, 'deep')
    assert.deepEqual(await names(storage, deep), ['file'])
    await storage.remove('/level-0')
    assert.deepEqual(await names(storage, '/'), [])
  })

  check(
    'a folder can have more entries than a page, and a reader can leave a listing early',
    async (storage) => {
      const expected = Array.from({ length: pageEntries + 1 }, (_, index) => `${startOf(index)}${index}`)
      const queue = expected.entries()
      const worker = async () => {
        for (const [index, name] of queue) {
          const path = `/large/${name}${index % entriesPerFolder === 0 ? '/inner' : ''}`
          await storage.write(path, stream('x'), { size: 1 })
        }
      }
      await Promise.all(Array.from({ length: 32 }, worker))
      expected.sort()
      for await (const { name } of storage.list('/large')) {
        assert.equal(name, expected[0])
        break
      }
      assert.deepEqual(await names(storage, '/large'), expected)
      const folder = movesFolders(storage) ? '/moved' : '/large'
      if (movesFolders(storage)) await storage.move('/large', folder)
      assert.deepEqual(await names(storage, folder), expected)
      await storage.remove(folder)
      assert.deepEqual(await names(storage, '/'), [])
      await storage.makeDirectory(folder)
      assert.deepEqual(
        await names(storage, folder),
        [],
        'a folder that was removed does not come back with a part of it',
      )
    },
  )

  check('a listing begins after a name, whether there is such an entry or not', async (storage) => {
    for (const name of ['b', 'd', '\uff5e', '\u{1f600}']) await put(storage, `/folder/${name}`, name)
    for (const [after, expected] of [
      ['', ['b', 'd', '\u{1f600}', '\uff5e']],
      ['b', ['d', '\u{1f600}', '\uff5e']],
      ['c', ['d', '\u{1f600}', '\uff5e']],
      ['\u{1f600}', ['\uff5e']],
      ['\uffff', []],
    ] as const) {
      const found: string[] = []
      for await (const { name } of storage.list('/folder', { after })) found.push(name)
      assert.deepEqual(found, expected)
    }
  })

  check('a file that stays is listed exactly once, even if others come and go meanwhile', async (storage) => {
    const length = Math.min(2 * pageEntries, mostThatStay)
    const stays = Array.from({ length }, (_, index) => `stays-${index}`)
    await Promise.all(stays.map((name) => put(storage, `/busy/${name}`, 'x')))
    let stop = false
    const churn = async (id: number) => {
      for (let round = 0; !stop; round += 1) {
        await put(storage, `/busy/comes-${id}-${round}`, 'x')
        await put(storage, `/busy/stays-${id}`, `${round}`)
        await storage.remove(`/busy/comes-${id}-${round}`)
      }
    }
    const churning = Promise.all([0, 1, 2].map(churn))
    try {
      for (let round = 0; round < 10; round += 1) {
        const seen = await names(storage, '/busy')
        assert.deepEqual(
          seen.filter((name) => name.startsWith('stays')),
          stays.toSorted(),
        )
      }
    } finally {
      stop = true
      await churning
    }
  })

  check('listing a missing path or a file is an error', async (storage) => {
    await put(storage, '/file', 'x')
    await assertFails(names(storage, '/none'), ['NOT_FOUND'], 'a missing folder')
    await assertFails(names(storage, '/file'), ['CONFLICT', 'VALIDATION_ERROR'], 'a file')
    await assertFails(storage.stat('/none'), ['NOT_FOUND'], 'stat of a missing path')
    await assertFails(storage.stat('/none/file'), ['NOT_FOUND'], 'stat in a missing folder')
    await assertFails(storage.stat('/file/below'), ['NOT_FOUND', 'CONFLICT'], 'stat below a file')
  })

  check('making a folder that exists succeeds and changes nothing in it', async (storage) => {
    await put(storage, '/folder/file', 'kept')
    await Promise.all(
      ['/folder', '/folder', '/new/inner', '/new/inner'].map((path) => storage.makeDirectory(path)),
    )
    assert.equal(await text(storage, '/folder/file'), 'kept')
    assert.deepEqual(await names(storage, '/new'), ['inner'])
    assertEntry(await storage.stat('/new/inner'), { name: 'inner', type: 'directory', size: 0 })
  })
}
