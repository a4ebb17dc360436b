import {
  access,
  chmod,
  mkdir,
  open,
  readFile,
  rename,
  rmdir,
  stat,
  unlink,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type DavNode, startDavNode } from './fixtures/dav-node.ts'
import { runProgram } from './fixtures/run-program.ts'

// Linux 6.18 refuses each list of a folder that davfs2 1.6 makes, with any server. So the tests name all entries.

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )
const mayMount = process.getuid?.() === 0 && (await isThere('/dev/fuse'))
const skip = needsPrograms('mount.davfs') || (!mayMount && 'Only root with /dev/fuse may mount.')

/** Mounts the files of a node. Returns the folder, and a function that ends the mount when everything is sent. */
async function mount(t: Test, { address, username, password }: DavNode) {
  const folder = t.testdir({ files: {}, cache: {} })
  const [files, cache] = [join(folder, 'files'), join(folder, 'cache')]
  const [secrets, conf] = [join(folder, 'secrets'), join(folder, 'davfs2.conf')]
  // It works as a user of its own.
  await chmod(cache, 0o777)
  await writeFile(secrets, `${address} ${username} ${password}\n`, { mode: 0o600 })
  // It sends and asks at once, so that no test waits for its caches.
  const settings = [
    `secrets ${secrets}`,
    `cache_dir ${cache}`,
    'use_locks 1',
    'delay_upload 0',
    'dir_refresh 1',
    'file_refresh 0',
    'ask_auth 0',
  ]
  await writeFile(conf, `${settings.join('\n')}\n`)
  const mounted = await runProgram('mount.davfs', ['-o', `conf=${conf}`, address, files])
  if (mounted.code !== 0) throw new Error(`The mount: ${mounted.output}`)
  let isMounted = true
  const unmount = async () => {
    if (!isMounted) return
    isMounted = false
    // Waits until all is sent.
    const { code, output } = await runProgram('umount', [files])
    if (code !== 0) throw new Error(`The end of the mount: ${output}`)
  }
  t.teardown(unmount)
  return { files, unmount }
}

t.test('a mount of davfs2 reads, writes, renames and deletes files', { skip }, async (t) => {
  const node = await startDavNode(t)
  await node.write('/Recipes/Apple cake.txt', '3 apples\n')
  await node.write('/old.txt', 'old')
  const { files, unmount } = await mount(t, node)
  t.equal(await readFile(join(files, 'Recipes/Apple cake.txt'), 'utf8'), '3 apples\n')

  await mkdir(join(files, 'Letters'))
  const large = Buffer.alloc(5_000_000, 'Dear Ms. Lindt,\n')
  await writeFile(join(files, 'Letters/Zoë & 100%.txt'), large)
  const appended = await open(join(files, 'Recipes/Apple cake.txt'), 'a')
  await appended.write('2 eggs\n')
  await appended.close()
  await rename(join(files, 'Recipes/Apple cake.txt'), join(files, 'Letters/cake.txt'))
  await rmdir(join(files, 'Recipes'))
  await unlink(join(files, 'old.txt'))
  t.equal((await stat(join(files, 'Letters/Zoë & 100%.txt'))).size, large.length)
  await unmount()
  t.equal(await node.read('/Letters/Zoë & 100%.txt'), large.toString())
  t.equal(await node.read('/Letters/cake.txt'), '3 apples\n2 eggs\n')
  const top = (await (await node.user.fetch('/readdir?path=/')).json()) as { name: string }[]
  t.strictSame(
    top.map(({ name }) => name),
    ['Letters'],
  )
})

t.test('a mount of davfs2 sees what came in by another way', { skip }, async (t) => {
  const node = await startDavNode(t)
  await node.write('/one.txt', 'one')
  const { files } = await mount(t, node)
  t.equal(await readFile(join(files, 'one.txt'), 'utf8'), 'one')
  await node.write('/two.txt', 'two')
  while (!(await isThere(join(files, 'two.txt')))) await delay(50)
  t.equal(await readFile(join(files, 'two.txt'), 'utf8'), 'two')
})
