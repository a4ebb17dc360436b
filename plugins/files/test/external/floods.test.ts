import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FileChange } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'

interface Page {
  readonly changes: readonly Pick<FileChange, 'op' | 'path' | 'source' | 'revision'>[]
  readonly cursor: string
}

t.test('floods by other programs are found whole, and nothing twice', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await services.changes.follow(ada.user.uuid)
  const folder = join(node.dataFolder, 'files', ada.user.uuid)
  const page = async (query: string) => (await (await ada.fetch(`/api/files/changes${query}`)).json()) as Page
  let { cursor } = await page('')
  /** The revisions of the files that the feed has told. */
  const told = new Map<string, string>()
  const twice: string[] = []
  const within = (folder: string) => [...told.keys()].filter((one) => `${one}/`.startsWith(`${folder}/`))
  const take = ({ op, path, source = '', revision = '' }: Page['changes'][number]) => {
    if (op === 'write') {
      if (told.get(path) === revision) twice.push(path)
      told.set(path, revision)
    } else if (op === 'delete') {
      for (const each of within(path)) told.delete(each)
    } else if (op === 'move') {
      for (const each of within(source)) {
        told.set(path + each.slice(source.length), told.get(each) ?? '')
        told.delete(each)
      }
    }
  }
  /** Lets a program run, and follows the feed until it has told all files and new contents. */
  const flood = async (name: string, program: () => Promise<void>, isChanged = () => true) => {
    await program()
    const ended = performance.now()
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    while (files.length !== told.size || !files.every((path) => told.has(path)) || !isChanged()) {
      const next = await page(`?after=${cursor}&wait=5&limit=1000`)
      next.changes.forEach(take)
      cursor = next.cursor
    }
    t.comment(`${name}: all found ${Math.round(performance.now() - ended)} ms after its end`)
  }
  const store = async (path: string, text: string) => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }

  await flood('10,000 files of a package manager', async () => {
    for (let n = 0; n < 10_000; n += 1) await store(`modules/${n % 1000}/lib/${n}.js`, `${n}`)
  })
  await flood('a folder of 5,000 files', async () => {
    for (let n = 0; n < 5000; n += 1) await store(`photos/${n}`, `${n}`)
  })
  await flood('the folder is renamed', () => rename(join(folder, 'photos'), join(folder, 'pictures')))
  const checkOut = async (branch: string, former: string) => {
    await rm(join(folder, 'repository', former), { recursive: true, force: true })
    for (let n = 0; n < 500; n += 1) {
      const path = `repository/src/${n % 20}/${n}`
      // git removes a file that differs, and makes it anew.
      await rm(join(folder, path), { force: true })
      await store(path, `${n} of ${branch}`)
      await store(`repository/${branch}/${n}`, 'only there')
    }
  }
  await flood('a checkout', () => checkOut('main', 'feature'))
  const before = new Map([...told].filter(([path]) => path.startsWith('/repository/src/')))
  const isChanged = () => [...before].every(([path, revision]) => told.get(path) !== revision)
  await flood('a checkout of another branch', () => checkOut('feature', 'main'), isChanged)
  t.equal(before.size, 500)
  t.strictSame(twice, [])
})
