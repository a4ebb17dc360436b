import type { ChangeMaker, UserFiles } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'

t.test('values of wrong types from plugins in JavaScript are refused', async (t) => {
  const services = captureServices()
  const mounts = { '/memory': 'memory' }
  const node = await createFilesNode({ mounts, maxFileSize: 1000 }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const files = services.files.for(ada.user)
  const { uuid } = ada.user
  async function* chunks(...items: unknown[]) {
    yield* items
  }

  for (const path of ['/file', '/memory/file']) {
    t.test(`values that are no content are not written to ${path}`, async (t) => {
      await put(ada, path, 'kept')
      const head = await services.changes.head(uuid)
      const foreign: [string, unknown][] = [
        ['a Buffer', Buffer.from('bytes')],
        ['an empty Buffer', Buffer.alloc(0)],
        ['a string', 'text'],
        ['a list', [Buffer.from('bytes')]],
        ['nothing', undefined],
        ['null', null],
        ['chunks of text', chunks('text')],
        ['ArrayBuffers', chunks(new ArrayBuffer(4))],
        ['16-bit numbers', chunks(new Uint16Array(800))],
        ['bytes, then a number', chunks(Buffer.from('bytes'), 7)],
      ]
      const expected = { name: 'TypeError', message: 'content must be an async iterable of Uint8Array' }
      for (const [what, content] of foreign)
        await t.rejects(files.write(path, content as AsyncIterable<Uint8Array>), expected, what)
      t.equal(await (await get(ada, 'read', path)).text(), 'kept')
      t.same(await services.changes.head(uuid), head)
    })
  }

  t.test('origins and paths of another form are refused', async (t) => {
    await put(ada, '/kept', 'kept')
    const wrong = { code: 'VALIDATION_ERROR' }
    for (const by of [{}, 7, null, ['phone']] as unknown as string[]) {
      await t.rejects(files.remove('/kept', { by }), { ...wrong, message: /name of the device/ })
      await t.rejects(files.makeDirectory('/new', { by }), wrong)
    }
    const makers = [
      {},
      { kind: 'nobody', id: 'x' },
      { kind: 'plugin', id: '' },
      { kind: 'plugin', id: 'x'.repeat(101) },
      { kind: 'plugin', id: 'x', name: 'x'.repeat(256) },
      { kind: 'plugin', id: 'x', user: 7 },
    ] as unknown as ChangeMaker[]
    for (const maker of makers) {
      await t.rejects(files.remove('/kept', { maker }), { ...wrong, message: /maker of a change/ })
      t.throws(() => services.files.for({ uuid }, { maker }), wrong)
    }
    for (const group of ['', 'a b', 7, null] as unknown as string[])
      await t.rejects(files.remove('/kept', { group }), { ...wrong, message: /group of a change/ })
    for (const path of [undefined, null, 7, {}, ['/kept']] as unknown as string[]) {
      const calls: ((files: UserFiles) => Promise<unknown>)[] = [
        (files) => files.stat(path),
        (files) => files.read(path),
        (files) => files.remove(path),
        (files) => files.move('/kept', path),
        (files) => files.write(path, chunks() as AsyncIterable<Uint8Array>),
        (files) => Array.fromAsync(files.list(path)),
      ]
      for (const call of calls) await t.rejects(call(files), wrong)
    }
    t.equal(await (await get(ada, 'read', '/kept')).text(), 'kept')
  })
})
