import t from 'tap'
import { SyncFailure } from '../../src/client/sync-failure.ts'
import type { ModelDevice } from './model/model-device.ts'
import type { ModelNode } from './model/model-node.ts'
import { createQuietWorld } from './model/quiet-world.ts'

const day = 86_400_000

/** Long enough for all steps that need no retry. */
const soon = 5000

t.test(
  'files without room on the node wait quietly, others go on, and all is sent when there is room',
  async (t) => {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    await pass(soon)
    let quota = 100
    let refused = 0
    const write = node.write.bind(node)
    const taken = () =>
      node.nodes.values().reduce((sum, each) => sum + (each.type === 'file' ? each.content.length : 0), 0)
    node.write = (path, content, ...others) => {
      if (taken() + content.length <= quota) return write(path, content, ...others)
      refused += 1
      throw new SyncFailure(
        'full',
        `You may store ${quota} bytes, and there is no room for ${content.length}.`,
      )
    }
    for (let i = 0; i < 200; i += 1) one.disk.write(`/large/${i}`, 'x'.repeat(150 + i), 1)
    one.disk.write('/small', 'fits', 2)
    await pass(2 * soon)
    t.strictSame(treeOf(node), ['/small: fits'])
    const told = new Set<unknown>()
    const before = refused
    for (let minutes = 0; minutes < 60; minutes += 1) {
      await pass(60_000)
      told.add(one.engine?.status.trouble)
    }
    t.equal(told.size, 1, 'one sentence, which stays')
    t.match([...told], [/no room for/])
    t.ok(refused - before < 60 * 50, `${refused - before} requests in an hour`)
    t.match(one.engine?.status, { isIdle: false, isConnected: true })
    t.equal(one.engine?.status.problems.size, 0)
    one.disk.write('/more', 'fits', 3)
    await pass(soon)
    t.ok(node.nodes.has('/more'))

    one.disk.drop('/large/199')
    quota = 1e6
    await pass(120_000)
    t.equal(treeOf(node).length, 201)
    t.match(one.engine?.status, { isIdle: true, trouble: null })

    quota = taken()
    one.disk.write('/last', 'x'.repeat(100), 4)
    await pass(soon)
    t.notOk(node.nodes.has('/last'))
    one.disk.drop('/large/0')
    await pass(2 * soon)
    t.ok(node.nodes.has('/last'), 'a deletion makes room at once')
    t.match(one.engine?.status, { isIdle: true, trouble: null })
  },
)

t.test('a file that is edited before the answer to its upload is lost is no conflict', async (t) => {
  for (const isKilled of [false, true]) {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    await pass(soon)
    one.disk.write('/a', 'first', 1)
    loseAnswer(node, 'write')
    // The node has the file, and the answer is on its way.
    await untilNodeHas(node, pass, '/a')
    if (isKilled) one.kill()
    one.disk.write('/a', 'second', 2)
    one.start()
    await pass(soon)
    t.strictSame(treeOf(node), ['/a: second'])
    t.strictSame(treeOn(one), ['/a: second'])
  }
})

t.test('a file that is deleted before the answer to its upload is lost stays deleted', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  one.disk.write('/a', 'unwanted', 1)
  loseAnswer(node, 'write')
  await untilNodeHas(node, pass, '/a')
  one.disk.drop('/a')
  await pass(soon)
  t.strictSame(treeOf(node), [])
  t.strictSame(treeOn(one), [])
})

t.test('a file that is edited or deleted before the answer to its move is lost is no conflict', async (t) => {
  for (const edit of ['second', null]) {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    one.disk.write('/a', 'first', 1)
    await pass(soon)
    one.disk.rename('/a', '/b')
    loseAnswer(node, 'move')
    await untilNodeHas(node, pass, '/b')
    if (edit === null) one.disk.drop('/b')
    else one.disk.write('/b', edit, 2)
    await pass(soon)
    const wanted = edit === null ? [] : ['/b: second']
    t.strictSame(treeOf(node), wanted)
    t.strictSame(treeOn(one), wanted)
  }
})

t.test('a move that is taken back before its answer is lost happens on the node too', async (t) => {
  for (const isKilled of [false, true]) {
    for (const [there, here] of [
      [null, null],
      ['there', null],
      [null, 'here'],
      ['there', 'here'],
    ]) {
      const { node, pass, device } = createQuietWorld()
      const one = device()
      one.disk.write('/a', 'moved', 1)
      await pass(soon)
      one.disk.rename('/a', '/b')
      loseAnswer(node, 'move')
      await untilNodeHas(node, pass, '/b')
      if (isKilled) one.kill()
      one.disk.rename('/b', '/a')
      // Other files take both paths.
      if (typeof here === 'string') one.disk.write('/b', here, 2)
      if (typeof there === 'string') {
        node.put('/a', there, 3)
        node.record('write', '/a')
      }
      one.start()
      await pass(4 * soon)
      const contents = [...node.nodes.values()].map((each) => each.type === 'file' && each.content)
      t.strictSame(contents.sort(), ['moved', here, there].filter((each) => each !== null).sort())
      t.strictSame(treeOf(node).sort(), treeOn(one).sort())
    }
  }
})

t.test('what is put back before the answer to its removal is lost comes back to the node', async (t) => {
  for (const isKilled of [false, true]) {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    one.disk.write('/folder/a', 'wanted', 1)
    one.disk.makeFolder('/empty')
    await pass(soon)
    for (const path of ['/folder/a', '/empty']) {
      const there = one.disk.find(path)
      one.disk.drop(path)
      loseAnswer(node, 'remove')
      while (node.nodes.has(path)) await pass(1)
      if (isKilled) one.kill()
      // It comes back from a trash.
      if (there !== undefined) one.disk.nodes.set(one.disk.key(path), there)
      one.start()
      one.engine?.scanAll()
      await pass(soon)
    }
    const wanted = ['/empty', '/folder', '/folder/a']
    t.strictSame([...node.nodes.keys()].sort(), wanted)
    t.strictSame([...one.disk.nodes.keys()].sort(), wanted)
  }
})

t.test(
  'a file that another device edits before the answer to its upload arrives is no conflict',
  async (t) => {
    const { node, pass, device } = createQuietWorld({ latency: 2000 })
    const one = device()
    one.disk.write('/a', 'first', 1)
    await pass(4 * soon)
    one.disk.write('/a', 'second', 3)
    while (!treeOf(node).includes('/a: second')) await pass(1)
    // The journal tells both versions while the answer is on its way. Both are of this life of the node.
    await pass(300)
    node.write('/a', 'third', 2, node.revisionOf('/a'))
    await pass(12 * soon)
    t.strictSame(treeOf(node), ['/a: third'])
    t.strictSame(treeOn(one), ['/a: third'])
  },
)

t.test('a folder that two devices make at once, and one of them removes, does not come back', async (t) => {
  for (const delay of [0, 3000]) {
    const { node, pass, device, time } = createQuietWorld({ latency: 2000 })
    const one = device()
    await pass(4 * soon)
    one.disk.makeFolder('/folder')
    // The other device makes it with a file in it, so no row of the journal is about the folder.
    const make = node.makeFolder.bind(node)
    node.makeFolder = (path) => {
      node.makeFolder = make
      const record = node.record.bind(node)
      node.record = (...row) => void time.after(delay, () => record(...row))
      node.write('/folder/a', 'any', 1, null)
      node.record = record
      make(path)
    }
    await pass(12 * soon)
    t.strictSame(treeOn(one), ['/folder/a: any'])
    node.remove('/folder/a', node.revisionOf('/folder/a'))
    node.remove('/folder', null)
    await pass(12 * soon)
    t.strictSame([...node.nodes.keys()], [])
    t.strictSame([...one.disk.nodes.keys()], [])
  }
})

t.test(
  'a removal that did not reach the node, and that its person took back, does not undo a later one',
  async (t) => {
    for (const kind of ['unavailable', 'refused'] as const) {
      const { node, pass, device } = createQuietWorld()
      const one = device()
      one.disk.write('/a', 'first', 1)
      await pass(soon)
      let tries = 0
      node.remove = () => {
        tries += 1
        throw new SyncFailure(kind, 'It was not removed.')
      }
      const taken = one.disk.within('/a')
      one.disk.drop('/a')
      while (tries === 0) await pass(100)
      Reflect.deleteProperty(node, 'remove')
      one.disk.restore(taken)
      await pass(soon)
      // No request is under way for so long.
      await pass(day / 24)
      t.strictSame(treeOn(one), ['/a: first'])
      node.remove('/a', node.revisionOf('/a'))
      await pass(soon)
      t.strictSame(treeOf(node), [])
      t.strictSame(treeOn(one), [])
    }
  },
)

t.test('an answer counts for good only when the journal is not held back', async (t) => {
  const { node, pass, device, time } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'first', 1)
  await pass(soon)
  const snapshot = node.snapshot()
  node.record = () => {}
  node.stalled = '/cold'
  one.disk.write('/a', 'second', 2)
  await pass(soon)
  // The look with this connection finds what was answered. It is still not in the journal.
  one.cut()
  await pass(soon)
  Reflect.deleteProperty(node, 'record')
  node.stalled = null
  node.putBack(snapshot, false)
  node.put('/a', 'third', time.now)
  node.record('write', '/a')
  one.cut()
  await pass(soon)
  t.match(treeOf(node), [/^\/a \(conflict .*\): second$/, '/a: third'])
  t.strictSame(treeOn(one), treeOf(node))
})

t.test('connections that are lost again and again are no progress', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  node.write = () => {
    throw new SyncFailure('unavailable', 'The node is starting.')
  }
  one.disk.write('/a', 'any', 1)
  for (let count = 0; count < 4; count += 1) {
    await pass(40_000)
    one.cut()
  }
  t.ok((one.engine?.stalledMs ?? 0) > 100_000, `${one.engine?.stalledMs} ms`)
})

t.test('a file of somebody else is not taken for an upload that did not arrive', async (t) => {
  for (const former of ['former', null]) {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    if (former !== null) one.disk.write('/a', former, 1)
    await pass(soon)
    loseRequest(node, 'write')
    one.disk.write('/a', 'wanted', 2)
    await pass(400)
    one.disk.drop('/a')
    await pass(soon)
    t.strictSame(treeOf(node), [])
    // Another device has the file from elsewhere.
    node.write('/a', 'wanted', 2, null)
    await pass(soon)
    t.strictSame(treeOf(node), ['/a: wanted'])
    t.strictSame(treeOn(one), ['/a: wanted'])
  }
})

t.test('a former version that somebody else puts back is no upload of this device', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'first', 1)
  await pass(soon)
  node.write('/a', 'second', 2, node.revisionOf('/a'))
  await pass(soon)
  one.disconnect()
  one.disk.write('/a', 'third', 3)
  node.write('/a', 'first', 4, node.revisionOf('/a'))
  one.isOnline = true
  await pass(soon)
  t.match(treeOf(node), [/^\/a \(conflict one .*: third$/, '/a: first'])
})

t.test('a restored node that does not have a file yet takes it from no device', async (t) => {
  const { node, steps, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const backup = node.backup()
  one.disk.write('/a', 'wanted', 1)
  await pass(soon)
  node.write('/a', 'newer', 2, node.revisionOf('/a'))
  // The look at the change meets the restored node. The connection is lost later.
  await pass(150)
  node.restore(backup)
  await pass(1000)
  one.cut()
  await pass(soon)
  t.strictSame(treeOn(one), ['/a: wanted'])
  t.strictSame(treeOf(node), ['/a: wanted'])
  t.notOk(steps.includes('one: removeLocal /a'))
})

t.test(
  'a node that is put back keeps what it has answered, although its journal never told it',
  async (t) => {
    const { node, pass, device, time } = createQuietWorld()
    const one = device()
    one.disk.write('/a', 'first', 1)
    one.disk.write('/removed', 'unwanted', 1)
    await pass(soon)
    const snapshot = node.snapshot()
    // A mount that does not answer holds the changes back.
    node.record = () => {}
    one.disk.write('/a', 'second', 2)
    one.disk.drop('/removed')
    await pass(soon)
    t.strictSame(treeOf(node), ['/a: second'])
    Reflect.deleteProperty(node, 'record')
    node.putBack(snapshot, false)
    node.put('/a', 'third', time.now)
    node.record('write', '/a')
    one.cut()
    await pass(soon)
    t.match(treeOf(node), [/^\/a \(conflict .*\): second$/, '/a: third', '/removed: unwanted'])
    t.strictSame(treeOn(one), treeOf(node))
  },
)

t.test(
  'a node that is put back keeps what a look has found there, although its journal never told it',
  async (t) => {
    const { node, pass, device, time } = createQuietWorld()
    const one = device()
    node.put('/folder/a', 'first', time.now)
    node.put('/folder/b', 'of both', time.now)
    await pass(soon)
    node.record('mkdir', '/folder')
    const snapshot = node.snapshot()
    // The look at the folder finds what other programs have just done. The node has not noticed it yet.
    node.put('/folder/a', 'second', time.now + 1)
    node.drop('/folder/b')
    await pass(soon)
    t.strictSame(treeOn(one), ['/folder/a: second'])
    node.putBack(snapshot, false)
    one.cut()
    await pass(soon)
    t.match(treeOf(node), [/^\/folder\/a \(conflict .*\): first$/, '/folder/a: second', '/folder/b: of both'])
    t.strictSame(treeOn(one), treeOf(node))
  },
)

t.test(
  'a node that is put back keeps what a listing has found there, although its journal never told it',
  async (t) => {
    const { node, pass, device, time } = createQuietWorld()
    node.write('/before', 'before', time.now, null)
    const snapshot = node.snapshot()
    node.put('/a', 'first', time.now)
    node.put('/b/inner', 'of both', time.now)
    const one = device()
    await pass(soon)
    t.strictSame(treeOn(one), ['/a: first', '/b/inner: of both', '/before: before'])
    // The journal has the position of the device.
    node.putBack(snapshot, false)
    node.put('/a', 'second', time.now)
    node.record('write', '/a')
    one.cut()
    await pass(soon)
    t.match(treeOf(node), [
      /^\/a \(conflict .*\): first$/,
      '/a: second',
      '/b/inner: of both',
      '/before: before',
    ])
    t.strictSame(treeOn(one), treeOf(node))
  },
)

t.test(
  'a listing goes on after its connection is lost, unless the node was put back meanwhile',
  async (t) => {
    for (const isPutBack of [false, true]) {
      const { node, pass, device, time } = createQuietWorld()
      node.write('/a', 'any', time.now, null)
      const snapshot = node.snapshot()
      // Another program removes the file, and the node has not noticed it yet.
      node.drop('/a')
      let lists = 0
      const list = node.list.bind(node)
      node.list = (folder) => {
        lists += 1
        return list(folder)
      }
      const one = device()
      while (lists === 0) await pass(1)
      if (isPutBack) node.putBack(snapshot, false)
      one.cut()
      await pass(soon)
      t.strictSame(treeOn(one), isPutBack ? ['/a: any'] : [])
      t.strictSame(treeOf(node), treeOn(one))
      t.equal(lists, isPutBack ? 2 : 1)
      one.cut()
      await pass(soon)
      t.equal(lists, isPutBack ? 2 : 1)
    }
  },
)

t.test('a device that has listed a node goes on from there with each connection', async (t) => {
  const { node, pass, device } = createQuietWorld()
  for (const path of ['/here', '/there', '/kept']) node.write(path, 'listed', 1, null)
  const one = device()
  await pass(soon)
  let lists = 0
  const list = node.list.bind(node)
  node.list = (folder) => {
    lists += 1
    return list(folder)
  }
  one.disconnect()
  one.kill()
  one.disk.drop('/here')
  node.remove('/there', node.revisionOf('/there'))
  // A node that restarts has what it had.
  node.putBack(node.snapshot(), false)
  one.isOnline = true
  one.start()
  await pass(soon)
  t.strictSame(treeOn(one), ['/kept: listed'])
  t.strictSame(treeOf(node), ['/kept: listed'])
  t.equal(lists, 0)
})

t.test('a look at a restored node before a restart of the client takes no file away', async (t) => {
  const { node, steps, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const backup = node.backup()
  one.disk.write('/a', 'wanted', 1)
  await pass(soon)
  node.write('/a', 'newer', 2, node.revisionOf('/a'))
  // The look at the change meets the restored node, and the client is killed before it knows of the restore.
  await pass(150)
  node.restore(backup)
  await pass(400)
  one.kill()
  one.start()
  await pass(soon)
  t.strictSame(treeOn(one), ['/a: wanted'])
  t.strictSame(treeOf(node), ['/a: wanted'])
  t.notOk(steps.includes('one: removeLocal /a'))
})

t.test('a folder that is removed and replaced by a file at once does not come back', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  one.disk.write('/a/b', 'unwanted', 1)
  await untilNodeHas(node, pass, '/a/b')
  one.disk.drop('/a/b')
  one.disk.drop('/a')
  one.disk.write('/a', 'wanted', 2)
  await pass(soon)
  t.strictSame(treeOn(one), ['/a: wanted'])
  t.strictSame(treeOf(node), treeOn(one))
})

t.test('a conflict copy that somebody gives its former name again stays', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  one.disk.write('/a', 'wanted', 1)
  // Somebody makes a folder there while the upload is on its way.
  const write = node.write.bind(node)
  node.write = (...args) => {
    node.write = write
    node.makeFolder('/a')
    return write(...args)
  }
  await pass(soon)
  const [copy = ''] = [...node.nodes.keys()].filter((path) => path.includes('conflict'))
  t.strictSame(treeOf(node), [`${copy}: wanted`])
  node.remove('/a', null)
  node.move(copy, '/a', node.revisionOf(copy) ?? '')
  await pass(soon)
  t.strictSame(treeOf(node), ['/a: wanted'])
  t.strictSame(treeOn(one), ['/a: wanted'])
})

t.test('a file that is moved here and edited there has both', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'first', 1)
  await pass(soon)
  node.write('/a', 'edited', 2, node.revisionOf('/a'))
  // The client knows of the edit, but has not replaced the file yet.
  await pass(350)
  one.disk.rename('/a', '/b')
  await pass(soon)
  t.strictSame(treeOn(one), ['/a: edited', '/b: first'])
  t.strictSame(treeOf(node), treeOn(one))
})

t.test(
  'a renamed folder is moved file by file, and no content is sent again, on a slow network too',
  async (t) => {
    for (const latency of [200, 4000]) {
      const { node, pass, device } = createQuietWorld({ latency })
      const one = device()
      for (let count = 0; count < 50; count += 1)
        one.disk.write(`/photos/${count}`, `content ${count}`, count)
      await pass(600_000)
      const before = node.changes.length
      one.disk.rename('/photos', '/pictures')
      await pass(600_000)
      const rows = journalOf(node).slice(before)
      t.strictSame(
        rows.filter((row) => !row.startsWith('move /pictures/')),
        ['mkdir /pictures', 'delete /photos'],
      )
      t.equal(rows.length, 52)
      t.strictSame(treeOn(one), treeOf(node))
    }
  },
)

t.test('a move that is seen only at its new path is a move', async (t) => {
  const { node, faults, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'any', 1)
  await pass(soon)
  const hint = one.disk.onChange
  one.disk.onChange = (path) => path === '/b' && hint(path)
  one.disk.rename('/a', '/b')
  faults.watch = 1
  await pass(soon)
  t.strictSame(journalOf(node), ['write /a', 'move /b'])
})

t.test('a moved file that was edited without a trace in its size and time is uploaded', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'first', 1)
  await pass(soon)
  one.disk.write('/a', 'other', 1)
  one.disk.rename('/a', '/b')
  await pass(soon)
  t.strictSame(treeOf(node), ['/b: other'])
})

t.test('a look at the node that began before an upload does not take the file away', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  one.disk.write('/a', 'wanted', 1)
  // The upload is on its way. A change that somebody else made and took back lets the client look at the path.
  await pass(120)
  node.record('delete', '/a')
  await pass(soon)
  t.strictSame(treeOn(one), ['/a: wanted'])
  t.strictSame(treeOf(node), ['/a: wanted'])
})

t.test('a change of the node during a look at the same path is seen', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  // A look at many folders takes seconds.
  for (let count = 0; count < 20; count += 1) node.put(`/folder/${count}/file`, 'any', 1)
  node.record('mkdir', '/folder')
  await pass(1000)
  node.drop('/folder')
  node.record('delete', '/folder')
  await pass(60_000)
  t.strictSame([...one.disk.nodes.keys()], [])
})

t.test('a file that is moved away and back during a look at it is seen', async (t) => {
  const { node, pass, device } = createQuietWorld({ latency: 1000 })
  const one = device()
  one.disk.write('/a', 'kept', 1)
  await pass(soon)
  const revision = node.revisionOf('/a') ?? ''
  node.move('/a', '/b', revision)
  // The look has met no file, and its answer is on its way.
  await pass(700)
  node.move('/b', '/a', revision)
  await pass(2 * soon)
  t.strictSame(treeOn(one), ['/a: kept'])
  t.ok(one.engine?.status.isIdle)
})

t.test('a folder that was made for a file which is gone already is synced', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const { revision } = node.write('/folder/file', 'any', 1, null)
  node.remove('/folder/file', revision)
  await pass(soon)
  t.strictSame([...one.disk.nodes.keys()], ['/folder'])
})

t.test('the node is not asked for what its messages tell', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const asked: string[] = []
  for (const name of ['stat', 'list', 'hash'] as const) {
    const answer = node[name].bind(node) as (...call: string[]) => never
    node[name] = (...call: string[]) => {
      asked.push(`${name} ${call[0]}`)
      return answer(...call)
    }
  }
  const revisions = Array.from(
    { length: 12 },
    (_, number) => node.write(`/new/${number}`, 'any', 1, null).revision,
  )
  await pass(soon)
  for (const [number, revision] of revisions.entries()) node.write(`/new/${number}`, 'other', 2, revision)
  await pass(soon)
  // The changes of the second file come in one message, after the ack of the first one.
  node.write('/new/12', 'any', 1, null)
  node.remove('/new/0', node.revisionOf('/new/0'))
  node.write('/new/0', 'saved as a new file', 2, null)
  await pass(soon)
  one.disk.write('/own', 'of the disk', 1)
  await pass(soon)
  t.equal(treeOn(one).length, 14)
  t.strictSame(treeOn(one), treeOf(node))
  t.strictSame(asked, [])

  // A folder takes the place of a file.
  node.remove('/new/1', node.revisionOf('/new/1'))
  node.write('/new/1/inner', 'below', 3, null)
  await pass(soon)
  t.strictSame(treeOn(one), treeOf(node))
})

t.test('a look that is newer than the changes of a message counts', async (t) => {
  // The changes of the file come after those of folders, with the first message or a later one.
  for (let folders = 0; folders < 20; folders += 1) {
    const { node, pass, device } = createQuietWorld({ latency: 150 })
    node.write('/b', 'other', 1, null)
    const one = device()
    await pass(soon)
    for (let number = 0; number < folders; number += 1) node.makeFolder(`/folder ${number}`)
    one.disk.write('/a', 'first', 1)
    loseAnswer(node, 'write')
    await untilNodeHas(node, pass, '/a')
    one.disconnect()
    node.write('/a', 'second', 2, node.revisionOf('/a'))
    one.isOnline = true
    await pass(soon)
    t.match(treeOn(one), [/^\/a \(conflict .*\): first$/, '/a: second', '/b: other'])
    t.strictSame(treeOf(node), treeOn(one))
  }
})

t.test('folders that were made for a file are not made once more', async (t) => {
  const { node, faults, steps, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  node.write('/there/file', 'of the node', 1, null)
  faults.watch = 1
  one.disk.makeFolder('/here')
  faults.watch = 0
  one.disk.write('/here/file', 'of the disk', 1)
  await pass(soon)
  t.strictSame(treeOn(one), ['/here/file: of the disk', '/there/file: of the node'])
  const made = steps.filter((step) => step.includes('make'))
  t.strictSame(made, [])
})

t.test('a look at the disk that began before a folder was removed does not bring it back', async (t) => {
  const { node, faults, pass, device } = createQuietWorld()
  const one = device()
  // A look at many folders takes longer than a removal.
  for (let count = 0; count < 400; count += 1) one.disk.makeFolder(`/folder ${count}`)
  one.disk.makeFolder('/gone')
  await pass(60_000)
  faults.watch = 1
  node.drop('/gone')
  node.record('delete', '/gone')
  // The client asks the node whether it is the same one, before it removes the folder.
  await pass(350)
  one.engine?.scanAll()
  await pass(60_000)
  t.equal(one.disk.find('/gone'), undefined)
  t.equal(node.nodes.has('/gone'), false)
  const rows = journalOf(node).filter((row) => row.endsWith(' /gone'))
  t.strictSame(rows, ['mkdir /gone', 'delete /gone'])
})

t.test(
  'a file that is back before its removal from the node stays there, also if the watch is silent',
  async (t) => {
    const { node, faults, pass, device } = createQuietWorld()
    const one = device()
    one.disk.write('/a', 'wanted', 1)
    await pass(soon)
    one.disk.drop('/a')
    await pass(800)
    faults.watch = 1
    one.disk.write('/a', 'wanted', 1)
    await pass(soon)
    t.strictSame(journalOf(node), ['write /a'])
  },
)

t.test('a program that saves a file by removing it for a moment removes nothing from the node', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'former', 1)
  await pass(soon)
  one.disk.drop('/a')
  await pass(700)
  one.disk.write('/a', 'saved', 2)
  await pass(soon)
  t.strictSame(journalOf(node), ['write /a', 'write /a'])
  t.strictSame(treeOf(node), ['/a: saved'])
})

t.test('a clock that is set back holds no removal up', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'unwanted', 1)
  await pass(soon)
  one.disk.drop('/a')
  await pass(500)
  one.skew = -86_400_000
  await pass(soon)
  t.strictSame(journalOf(node), ['write /a', 'delete /a'])
})

t.test('a listing during which the node was restored does not count', async (t) => {
  const { node, time, pass, device } = createQuietWorld()
  for (let count = 0; count < 20; count += 1) node.put(`/folder ${count}/file`, 'any', time.now)
  node.put('/restored', 'wanted', time.now)
  const backup = node.backup()
  node.drop('/restored')
  const one = device()
  // The folder at the top is listed, and others are not yet.
  await pass(1000)
  node.restore(backup)
  one.cut()
  await pass(30_000)
  t.strictSame(treeOn(one), treeOf(node))
  t.ok(treeOn(one).includes('/restored: wanted'))
})

t.test('a file whose revision is another one at each look is tried ever more rarely', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  node.put('/a', 'any', 1)
  const [look, read] = [node.stat.bind(node), node.read.bind(node)]
  let [looks, reads] = [0, 0]
  Object.assign(node, {
    stat: (path: string) => {
      looks += 1
      const entry = look(path)
      const isLie = path === '/a' && entry?.type === 'file'
      return isLie ? { ...entry, revision: `never the same ${looks}` } : entry
    },
    read: (path: string, revision: string) => {
      if (path !== '/a') return read(path, revision)
      reads += 1
      throw new SyncFailure('changed', 'The file has another revision.')
    },
  })
  node.record('write', '/a')
  node.write('/b', 'beside', 1, null)
  await pass(600_000)
  t.ok(reads > 5, `${reads} reads`)
  t.ok(reads < 30, `${reads} reads`)
  t.ok(looks < 60, `${looks} looks`)
  t.strictSame(treeOn(one), ['/b: beside'])
})

t.test('a path of the node that cannot be looked at holds nothing else up', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/gone', 'unwanted', 1)
  await pass(soon)
  const look = node.stat.bind(node)
  let looks = 0
  Object.assign(node, {
    stat: (path: string) => {
      if (path !== '/bad') return look(path)
      looks += 1
      throw new SyncFailure('unavailable', 'The mount does not answer.')
    },
  })
  node.record('write', '/bad')
  await pass(soon)
  node.write('/b', 'beside', 1, null)
  one.disk.write('/c', 'of the disk', 1)
  one.disk.drop('/gone')
  await pass(600_000)
  t.strictSame(treeOn(one), ['/b: beside', '/c: of the disk'])
  t.strictSame(treeOf(node), treeOn(one))
  t.match(one.engine?.status, { isIdle: false, trouble: 'The mount does not answer.' })
  t.ok(looks < 30, `${looks} looks`)
})

t.test('nothing is decided about a path of the node at which a look failed', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'unwanted', 1)
  await pass(soon)
  one.disk.rename('/a', '/b')
  loseAnswer(node, 'move')
  await untilNodeHas(node, pass, '/b')
  one.disk.drop('/b')
  const look = node.stat.bind(node)
  let failures = 3
  Object.assign(node, {
    stat: (path: string) => {
      if (path !== '/b' || failures === 0) return look(path)
      failures -= 1
      throw new SyncFailure('unavailable', 'The mount does not answer.')
    },
  })
  await pass(60_000)
  t.equal(failures, 0)
  t.strictSame(treeOf(node), [])
  t.strictSame(treeOn(one), [])
})

t.test('a node that ends each connection at once is asked ever more rarely', async (t) => {
  const { node, time, pass, device } = createQuietWorld()
  const follow = node.follow.bind(node)
  let [connections, lists] = [0, 0]
  const list = node.list.bind(node)
  const one = device()
  Object.assign(node, {
    list: (folder: string) => {
      lists += 1
      return list(folder)
    },
    follow: (...args: Parameters<typeof follow>) => {
      connections += 1
      time.after(1000, () => one.cut())
      return follow({}, args[1])
    },
  })
  one.cut()
  await pass(600_000)
  t.ok(connections > 5, `${connections} connections`)
  t.ok(connections < 30, `${connections} connections`)
  t.ok(lists <= connections + 1, `${lists} listings`)
})

t.test('a listing that fails is tried ever more rarely', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const list = node.list.bind(node)
  let lists = 0
  Object.assign(node, {
    list: () => {
      lists += 1
      throw new SyncFailure('unavailable', 'The mount does not answer.')
    },
  })
  node.put('/a', 'any', 1)
  const one = device()
  await pass(600_000)
  t.ok(lists < 30, `${lists} listings`)
  Object.assign(node, { list })
  await pass(60_000)
  t.strictSame(treeOn(one), ['/a: any'])
})

t.test(
  'a folder that gives its name to a file of the node is uploaded whole, also without a watch',
  async (t) => {
    const { node, faults, pass, device } = createQuietWorld()
    node.put('/a', 'of the node', 1)
    faults.watch = 1
    const one = device()
    one.disk.write('/a/b', 'of the disk', 1)
    await pass(60_000)
    t.match(treeOf(node), [/^\/a \(conflict one .*\/b: of the disk$/, '/a: of the node'])
    t.strictSame(treeOn(one), treeOf(node))
  },
)

t.test('a folder that was removed on the node stays if something in it is not synced', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/.nodekeepignore', '*.tmp', 1)
  one.disk.write('/folder/a', 'any', 1)
  one.disk.write('/folder/b.tmp', 'ignored', 1)
  await pass(soon)
  node.drop('/folder')
  node.record('delete', '/folder')
  await pass(60_000)
  t.strictSame(treeOn(one), ['/.nodekeepignore: *.tmp', '/folder/b.tmp: ignored'])
  t.ok(node.nodes.has('/folder'), 'the node has it again')
  t.match(one.engine?.status, { isIdle: true })
})

t.test('bytes that are not those of the size or hash that the node told are not stored', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const read = node.read.bind(node)
  node.put('/conflict', 'yours', 1)
  node.put('/new', 'other', 1)
  Object.assign(node, { read: (path: string) => (path === '/conflict' ? 'liars' : 'too many') })
  const one = device()
  // Both versions are hashed first.
  one.disk.write('/conflict', 'mine!', 1)
  await pass(60_000)
  t.match(treeOn(one), [/^\/conflict \(conflict one .*: mine!$/])
  t.match(one.engine?.status.trouble, /other bytes/)
  Object.assign(node, { read })
  await pass(120_000)
  t.match(treeOn(one), [/^\/conflict \(conflict one .*: mine!$/, '/conflict: yours', '/new: other'])
})

t.test('many files that are gone from the node wait for the person', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  for (let count = 0; count < 6; count += 1) one.disk.write(`/${count}`, 'wanted', 1)
  await pass(soon)
  for (let count = 0; count < 6; count += 1) {
    node.drop(`/${count}`)
    // In place of some files, the node has folders.
    if (count < 2) node.nodes.set(`/${count}`, { type: 'directory' })
    node.record(count < 2 ? 'mkdir' : 'delete', `/${count}`)
  }
  await pass(60_000)
  t.equal(treeOn(one).length, 6)
  t.equal(one.engine?.status.heldDeletions, 6)
  one.engine?.confirmDeletions()
  await pass(soon)
  t.strictSame([...one.disk.nodes.keys()], ['/0', '/1'])
})

t.test('deletions count together for ten minutes, whatever happens to the clock', async (t) => {
  for (const jump of [day, -day]) {
    const { node, pass, device } = createQuietWorld()
    const one = device()
    for (let count = 0; count < 8; count += 1) one.disk.write(`/${count}`, 'wanted', 1)
    await pass(soon)
    const remove = (path: string) => {
      node.drop(path)
      node.record('delete', path)
    }
    for (let count = 0; count < 4; count += 1) remove(`/${count}`)
    await pass(soon)
    t.equal(treeOn(one).length, 4)
    one.skew = jump
    for (let count = 4; count < 7; count += 1) remove(`/${count}`)
    await pass(soon)
    t.equal(one.engine?.status.heldDeletions, 3, 'they are seen as many')
    await pass(11 * 60_000)
    node.record('delete', '/none')
    await pass(soon)
    t.equal(treeOn(one).length, 1, 'ten minutes later, they are few')
  }
})

t.test('what was refused is tried again when the watch tells of a folder above it', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const place = one.disk.place.bind(one.disk)
  let attempts = 0
  Object.assign(one.disk, {
    place: () => {
      attempts += 1
      throw new SyncFailure('refused', 'permission denied')
    },
  })
  node.write('/folder/below/a', 'any', 1, null)
  await pass(60_000)
  t.match(one.engine?.status, { isIdle: true, problems: new Map([['/folder/below/a', 'permission denied']]) })
  // The client itself makes the folders, which the watch tells.
  t.ok(attempts < 5, `${attempts} attempts`)
  Object.assign(one.disk, { place })
  one.disk.onChange('/folder')
  await pass(soon)
  t.strictSame(treeOn(one), ['/folder/below/a: any'])
  t.equal(one.engine?.status.problems.size, 0)
})

t.test('a name that the disk turns out not to have is named, and tried again later', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const place = one.disk.place.bind(one.disk)
  let attempts = 0
  Object.assign(one.disk, {
    place: (...args: Parameters<typeof place>) => {
      if (args[0] !== '/a:b') return place(...args)
      attempts += 1
      throw new SyncFailure('changed', 'no such file or directory')
    },
  })
  node.write('/a:b', 'any', 1, null)
  node.write('/c', 'beside', 1, null)
  await pass(120_000)
  const problems = new Map([['/a:b', 'no such file or directory']])
  t.match(one.engine?.status, { isIdle: true, open: 0, problems })
  t.strictSame(treeOn(one), ['/c: beside'])
  await pass(40 * 60_000)
  const before = attempts
  t.ok(before < 10, `${before} attempts`)
  await pass(30 * 60_000)
  t.equal(attempts, before + 1, 'it is tried again with the next look at everything')
  node.write('/a:b', 'other', 2, node.revisionOf('/a:b'))
  await pass(soon)
  t.ok(attempts > before + 1, 'and when it has changed')
  Object.assign(one.disk, { place })
  await pass(120_000)
  t.strictSame(treeOn(one), ['/a:b: other', '/c: beside'])
  t.equal(one.engine?.status.problems.size, 0)
})

t.test('a file that changes at each attempt is named, and goes on being tried', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  await pass(soon)
  const read = one.disk.contentOf.bind(one.disk)
  Object.assign(one.disk, {
    contentOf: (...args: Parameters<typeof read>) => {
      if (args[0] !== '/log') return read(...args)
      one.disk.write('/log', 'one more line', 1)
      throw new SyncFailure('changed', 'The file changes while it is read.')
    },
  })
  one.disk.write('/log', 'a line', 1)
  await pass(600_000)
  t.match(one.engine?.status, { isIdle: false, problems: new Map([['/log', /changes while it is read/]]) })
  t.ok(Number(one.engine?.stalledMs) > 500_000, 'a run that is to end knows that it waits in vain')
  Object.assign(one.disk, { contentOf: read })
  await pass(120_000)
  t.strictSame(treeOf(node), ['/log: one more line'])
  t.match(one.engine?.status, { isIdle: true, problems: new Map() })
  t.equal(one.engine?.stalledMs, 0)
})

t.test('a file that is too large for the node is not read', async (t) => {
  const { node, pass, device } = createQuietWorld()
  const one = device()
  one.disk.write('/a', 'small', 1)
  await pass(soon)
  const read = one.disk.contentOf.bind(one.disk)
  let reads = 0
  Object.assign(one.disk, {
    contentOf: (...args: Parameters<typeof read>) => {
      reads += 1
      return read(...args)
    },
  })
  node.largestFile = 2_000_000
  for (const path of ['/a', '/b']) one.disk.write(path, 'x'.repeat(2_000_001), 2)
  await pass(soon)
  const reason = /too large. The node takes files of at most 2000000 bytes/
  t.match(one.engine?.status, {
    isIdle: true,
    problems: new Map([
      ['/a', reason],
      ['/b', reason],
    ]),
  })
  t.equal(reads, 0)
  one.disk.write('/b', 'x'.repeat(2_000_000), 3)
  await pass(soon)
  t.strictSame([...node.nodes.keys()], ['/a', '/b'])
})

t.test(
  'several devices with the same version make one copy of the one that a restored node has',
  async (t) => {
    for (const isNodeNewer of [false, true]) {
      const { node, pass, device } = createQuietWorld()
      const devices = ['one', 'two', 'three'].map((name) => device(name))
      await pass(soon)
      const writeAs = (content: string, modified: number) =>
        node.write('/a.txt', content, modified, node.revisionOf('/a.txt'))
      writeAs('former', isNodeNewer ? 30_000 : 10_000)
      await pass(soon)
      const backup = node.backup()
      writeAs('newer', 20_000)
      await pass(soon)
      node.restore(backup)
      for (const each of devices) each.cut()
      await pass(60_000)
      const wanted = isNodeNewer
        ? ['/a (conflict 1970-01-01 000020).txt: newer', '/a.txt: former']
        : ['/a (conflict 1970-01-01 000010).txt: former', '/a.txt: newer']
      t.strictSame(treeOf(node), wanted)
      for (const each of devices) t.strictSame(treeOn(each), wanted)
      // A device that comes later finds the copy.
      node.restore(backup)
      for (const each of devices) each.cut()
      await pass(60_000)
      t.strictSame(treeOf(node), wanted)
    }
  },
)

/** The next call takes effect, but its answer is lost. */
function loseAnswer(node: ModelNode, call: 'write' | 'move' | 'remove'): void {
  const original = node[call].bind(node) as (...args: unknown[]) => unknown
  Object.assign(node, {
    [call]: (...args: unknown[]) => {
      Object.assign(node, { [call]: original })
      original(...args)
      throw new SyncFailure('unavailable', 'The connection is lost.')
    },
  })
}

/** The next call gets no answer, and has no effect. */
function loseRequest(node: ModelNode, call: 'write'): void {
  const original = node[call]
  Object.assign(node, {
    [call]: () => {
      Object.assign(node, { [call]: original })
      throw new SyncFailure('unavailable', 'The connection is lost.')
    },
  })
}

async function untilNodeHas(
  node: ModelNode,
  pass: (ms: number) => Promise<void>,
  path: string,
): Promise<void> {
  while (!node.nodes.has(path)) await pass(1)
}

function journalOf({ changes }: ModelNode): string[] {
  return changes.map(({ op, path }) => `${op} ${path}`)
}

function treeOf({ nodes }: ModelNode): string[] {
  return [...nodes].flatMap(([path, each]) => (each.type === 'file' ? `${path}: ${each.content}` : [])).sort()
}

function treeOn({ disk }: ModelDevice): string[] {
  return [...disk.nodes.values()]
    .flatMap((each) => (each.type === 'file' ? `${each.path}: ${each.content}` : []))
    .sort()
}
