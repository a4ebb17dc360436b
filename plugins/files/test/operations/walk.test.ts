// In a process of its own: it changes the working directory.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { keptOf } from '../fixtures/kept-api.ts'

const longest = 4096

/** A path below a folder, with the given number of bytes in all. */
function pathOf(folder: string, bytes: number): string {
  const room = bytes - folder.length
  const whole = `/${'x'.repeat(99)}`.repeat(Math.floor(room / 100))
  const rest = room % 100
  // A remainder of one byte is too short for a name.
  return rest === 1
    ? `${folder}${whole}x`
    : `${folder}${whole}${rest === 0 ? '' : `/${'y'.repeat(rest - 1)}`}`
}

t.test('a move creates no path that is too long', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({ mounts: { '/m': 'memory' } }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())

  for (const mount of ['', '/m'])
    t.test(mount === '' ? 'within a mount' : 'across mounts', async (t) => {
      const ada = await node.signIn()
      const move = async (source: string, destination: string) => {
        const answer = await post(ada, 'move', { source, destination })
        return { status: answer.status, ...((await answer.json()) as { code?: string; message?: string }) }
      }
      const path = pathOf('/a', longest)
      t.equal((await put(ada, path, 'deep')).status, 200)
      const tooFar = `${mount}/abc`
      t.match(await move('/a', tooFar), { status: 400, code: 'VALIDATION_ERROR', message: /4096 bytes/ })
      t.equal((await get(ada, 'stat', tooFar)).status, 404)
      t.equal(await (await get(ada, 'read', path)).text(), 'deep', 'the file did not move')
      t.strictSame(
        ((await (await get(ada, 'readdir', mount || '/')).json()) as { name: string }[]).map(
          ({ name }) => name,
        ),
        mount === '' ? ['a', 'm'] : [],
        'no other entry exists',
      )

      const inner = path.split('/').slice(0, 3).join('/')
      const exactly = `${mount}/${'b'.repeat(inner.length - mount.length - 1)}`
      t.equal((await move(inner, exactly)).status, 200, 'a path of the previous length is accepted')
      t.equal(await (await get(ada, 'read', exactly + path.slice(inner.length))).text(), 'deep')
      t.equal((await move(exactly, `${mount}/c`)).status, 200)
      t.equal((await move(`${mount}/c`, `${exactly}x`)).status, 400)
      await services.files.for(ada.user).remove(`${mount}/c`, { permanent: true })
    })

  t.test('nested folders cannot exceed the length of a path', async (t) => {
    const ada = await node.signIn()
    const outer = pathOf('/outer', 1900)
    t.equal((await put(ada, `${pathOf('/tower', 1900)}/file`, 'x')).status, 200)
    const statuses: number[] = []
    for (let round = 0; round < 4; round += 1) {
      await post(ada, 'mkdir', { path: outer })
      for (const [source, destination] of [
        ['/tower', `${outer}/tower`],
        ['/outer', '/tower'],
      ]) {
        statuses.push((await post(ada, 'move', { source, destination })).status)
      }
      if (statuses.includes(400)) break
    }
    t.strictSame(statuses, [200, 200, 400, 409])
    let [folder, deepest] = ['/tower', '']
    for (;;) {
      const [entry] = (await (await get(ada, 'readdir', folder)).json()) as { name: string; type: string }[]
      deepest = `${folder}/${entry?.name}`
      if (entry?.type !== 'directory') break
      folder = deepest
    }
    t.equal(await (await get(ada, 'read', deepest)).text(), 'x', 'every stored path can be requested')
  })

  t.test('many short moves do not forbid another one', async (t) => {
    const ada = await node.signIn()
    await put(ada, '/a/file', 'x')
    const long = 'l'.repeat(250)
    for (let round = 0; round < 20; round += 1) {
      t.equal((await post(ada, 'move', { source: '/a', destination: `/${long}` })).status, 200)
      t.equal((await post(ada, 'move', { source: `/${long}`, destination: '/a' })).status, 200)
    }
  })

  t.test('a folder that other programs made too deep can be moved to a usable path', async (t) => {
    const ada = await node.signIn()
    const root = join(node.dataFolder, 'files', ada.user.uuid)
    const half = pathOf('/x', 3000)
    await mkdir(join(root, half), { recursive: true })
    await post(ada, 'mkdir', { path: '/y' })
    await mkdir(join(root, 'z', half), { recursive: true })
    process.chdir(join(root, half))
    await mkdir(`.${half}`, { recursive: true })
    process.chdir(node.dataFolder)
    t.equal((await get(ada, 'stat', `${half}${half}`)).status, 400)
    t.equal((await post(ada, 'move', { source: `${half}/x`, destination: '/near' })).status, 200)
    t.equal((await get(ada, 'stat', `/near${half.slice(2)}`)).status, 200)
    t.equal((await post(ada, 'delete', { path: '/x' })).status, 200)
    // Its paths are too long for the removal of the test's folder.
    await keptOf(ada).emptyTrash()
  })
})
