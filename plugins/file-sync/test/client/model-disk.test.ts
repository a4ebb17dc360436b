import t from 'tap'
import { ModelDisk } from './model/model-disk.ts'

t.test('nothing lies under a spelling of a folder that the disk does not have', async (t) => {
  for (const isCaseSensitive of [false, true]) {
    const disk = new ModelDisk(isCaseSensitive)
    const folder = isCaseSensitive ? '/PHOTOS' : '/photos'
    disk.write('/photos/a', 'a', 1)
    disk.makeFolder('/moved')
    disk.write('/removed', 'removed', 1)
    const there = disk.within('/removed')
    disk.drop('/removed')
    disk.write('/PHOTOS/new', 'new', 2)
    disk.rename('/moved', '/PHOTOS/moved')
    disk.restore(there.map((node) => ({ ...node, path: '/PHOTOS/removed' })))
    for (const name of ['new', 'moved', 'removed']) {
      t.ok(disk.stat(`${folder}/${name}`), name)
      t.ok(disk.list(folder)?.has(name), name)
    }
    const paths = [...disk.nodes.values()].map(({ path }) => path)
    t.equal(paths.filter((path) => path.startsWith('/PHOTOS')).length, isCaseSensitive ? 4 : 0)
  }
})

t.test('a disk that ignores case gives a folder another spelling when it is renamed', async (t) => {
  const disk = new ModelDisk(false)
  disk.write('/photos/a', 'a', 1)
  disk.rename('/photos', '/Photos')
  t.equal(disk.stat('/photos/a'), null)
  t.match(disk.stat('/Photos/a'), { type: 'file' })
  t.strictSame([...(disk.list('/') ?? new Map()).keys()], ['Photos'])
})
