import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, Files, type FilesService } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { writeBack } from '../src/folders/write-back.ts'

t.test('what somebody else changed meanwhile stays as it is', async (t) => {
  let service: FilesService | undefined
  const peek = definePlugin({
    id: 'peek',
    requires: { files: Files },
    setup: ({ files }) => {
      service = files
    },
  })
  const plugins = { files: true, 'storage-local': true }
  const node = await createTestNode({ folder: import.meta.dirname, config: { plugins }, plugins: [peek] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const files = service?.for(ada.user)
  if (files === undefined) throw new Error('There are no files.')
  const text = async function* (content: string) {
    yield Buffer.from(content)
  }
  const { revision } = await files.write('/notes/a.txt', text('old'))
  const preopen = { files, path: '/notes', guestPath: '/data', writable: true }
  const known = new Map([['a.txt', revision]])
  const stored = [{ path: 'a.txt', content: Buffer.from('of the program') }]

  await files.write('/notes/a.txt', text('newer'))
  await t.rejects(writeBack(preopen, [], stored, known), { code: 'PRECONDITION_FAILED' })
  await t.rejects(writeBack(preopen, ['a.txt'], [], known), { code: 'PRECONDITION_FAILED' })
  const unknown = new Map()
  await t.rejects(
    writeBack(preopen, [], stored, unknown),
    { code: 'PRECONDITION_FAILED' },
    'a new file is in the way',
  )
  t.equal((await files.stat('/notes/a.txt')).size, 'newer'.length)

  const now = await files.stat('/notes/a.txt')
  await writeBack(preopen, [], stored, new Map([['a.txt', now.revision]]))
  t.equal((await files.stat('/notes/a.txt')).size, 'of the program'.length)
})
