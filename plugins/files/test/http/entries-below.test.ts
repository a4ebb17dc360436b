import { type FileListEntry, NodekeepError, nameOf, parentOf, type UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { entriesBelow } from '../../src/http/entries-below.ts'

/** A tree of folders in memory, with the listings that were made and those that are open. */
class Tree implements Pick<UserFiles, 'list'> {
  readonly listed: string[] = []
  open = 0
  readonly #names = new Map<string, string[]>([['/', []]])

  /** Adds numbered folders. Their names are in the order of UTF-16 code units. */
  add(folder: string, count: number): void {
    const names = Array.from({ length: count }, (_, n) => `${`${n}`.padStart(4, '0')}${'ab～é'[n % 4]}`)
    this.#names.set(folder, names)
    for (const name of names) this.#names.set(`${folder === '/' ? '' : folder}/${name}`, [])
  }

  remove(folder: string): void {
    this.#names.get(parentOf(folder))?.splice(Number.parseInt(nameOf(folder), 10), 1)
    for (const path of this.#names.keys())
      if (path === folder || path.startsWith(`${folder}/`)) this.#names.delete(path)
  }

  get paths(): string[] {
    return [...this.#names.keys()].filter((path) => path !== '/').sort()
  }

  async *list(path: string, { after = '' } = {}): AsyncGenerator<FileListEntry, void, undefined> {
    this.listed.push(path)
    const names = this.#names.get(path)
    if (names === undefined) throw new NodekeepError('NOT_FOUND', 'There is nothing.')
    this.open += 1
    try {
      for (const name of names) {
        const entryPath = `${path === '/' ? '' : path}/${name}`
        if (name > after) yield { path: entryPath, name, type: 'directory', size: 0, modified: new Date() }
      }
    } finally {
      this.open -= 1
    }
  }
}

t.test('of many folders in many folders, each comes once, after the one that it is in', async (t) => {
  const tree = new Tree()
  tree.add('/', 2500)
  for (const [folder, count] of [
    ['/0007é', 1500],
    ['/0007é/0003é', 1001],
    ['/0007é/1499é', 1000],
    ['/0008a', 900],
    ['/2499é', 600],
  ] as const)
    tree.add(folder, count)
  for (let level = 0, deep = '/0009b'; level < 150; level += 1, deep += '/0002～') tree.add(deep, 12)
  const seen = new Set<string>(['/'])
  for await (const { path } of entriesBelow(tree as unknown as UserFiles, '/')) {
    if (!seen.has(parentOf(path)) || tree.open > 1) t.fail(path)
    seen.add(path)
    // Of one folder, the listing ends. The others are waiting.
    if (path === '/0007é/0003é/0500a') {
      for (const gone of ['/0007é/0003é', '/0007é/1499é', '/0008a']) tree.remove(gone)
    }
  }
  for (const path of tree.paths) if (!seen.has(path)) t.fail(path)
  t.notOk(seen.has('/0007é/1499é/0000a'))
  const again = tree.listed.length - new Set(tree.listed).size
  t.ok(again > 0 && again < 60, `${again} folders were listed again`)
})

t.test('a folder that does not exist is an error', async (t) => {
  await t.rejects(Array.fromAsync(entriesBelow(new Tree() as unknown as UserFiles, '/none')), {
    code: 'NOT_FOUND',
  })
})
