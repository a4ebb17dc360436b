import t from 'tap'
import { countingBackend } from '../fixtures/counting-backend.ts'
import { createFilesNode, post, put } from '../fixtures/files-node.ts'

t.test('no request asks a storage for the same thing twice', async (t) => {
  const counting = countingBackend()
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins: [counting.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/folder/0', 'x')
  for (let file = 1; file < 100; file += 1) await put(ada, `/folder/${file}`, 'x')
  await post(ada, 'mkdir', { path: '/there' })

  const most = async (limit: number, what: string, request: () => Promise<Response>) => {
    const counts = await counting.count(async () => t.equal((await request()).status, 200, what))
    t.ok((counts.all ?? 0) <= limit, `${what}: ${JSON.stringify(counts)}, at most ${limit}`)
  }
  await most(5, 'write a new file', () => put(ada, '/folder/new', 'x'))
  await most(3, 'overwrite a file', () => put(ada, '/folder/new', 'y'))
  await most(9, 'move a file', () => post(ada, 'move', { source: '/folder/new', destination: '/there/new' }))
  await most(6, 'copy a file', () =>
    post(ada, 'api/files/copy', { source: '/there/new', destination: '/there/copy' }),
  )
  await most(4, 'delete a file', () => post(ada, 'delete', { path: '/there/copy' }))
  await most(1, 'list a folder', () => ada.fetch('/readdir?path=/folder'))
  await most(450, 'move a folder of 100', () =>
    post(ada, 'move', { source: '/folder', destination: '/moved' }),
  )
  await most(220, 'copy a folder of 100', () =>
    post(ada, 'api/files/copy', { source: '/moved', destination: '/copy' }),
  )
  await most(220, 'delete a folder of 100', () => post(ada, 'delete', { path: '/moved' }))
  for (let folder = 0; folder < 10; folder += 1) await post(ada, 'mkdir', { path: `/nested/${folder}` })
  await most(36, 'copy a folder of 10 empty folders', () =>
    post(ada, 'api/files/copy', { source: '/nested', destination: '/there/nested' }),
  )
})

t.test('a storage that checks conditions itself is asked once more for a new file', async (t) => {
  const counting = countingBackend({ atomicConditions: true })
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins: [counting.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/folder/first', 'x')
  const counts = await counting.count(() => put(ada, '/folder/new', 'x'))
  t.strictSame(counts, { write: 1, all: 1 })
})
