import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { version } from '../fixtures/modules.ts'
import { createNativeNode } from '../fixtures/native-node.ts'
import { callFile, store } from '../fixtures/wasm-node.ts'
import { wat } from '../fixtures/wat.ts'

async function versionOf(user: TestUser): Promise<number> {
  const { body } = await callFile(user, '/version.wasm', 'version')
  return (body as { result: number }).result
}

t.test('a call never runs an older version than the last one stored before it', async (t) => {
  const node = await createNativeNode(t)
  const ada = await node.signIn()
  const versions = await Promise.all(Array.from({ length: 12 }, (_, index) => wat(version(index))))
  let stored = -1
  let done = false
  const called = new Set<number>()
  const writing = async () => {
    for (const [number, bytes] of versions.entries()) {
      await store(ada, '/version.wasm', bytes)
      stored = number
      t.equal(await versionOf(ada), number)
    }
    done = true
  }
  const calling = async () => {
    while (!done) {
      const before = stored
      if (before < 0) await new Promise(setImmediate)
      else {
        const number = await versionOf(ada)
        if (number < before) t.fail(`version ${number} ran after version ${before} was stored`)
        called.add(number)
      }
    }
  }
  await Promise.all([writing(), ...Array.from({ length: 3 }, calling)])
  t.ok(called.size > 3, `${called.size} versions were called`)
})

t.test('a call runs the new version of a file that another program changed', async (t) => {
  const node = await createNativeNode(t)
  const ada = await node.signIn()
  await store(ada, '/version.wasm', await wat(version(1)))
  t.equal(await versionOf(ada), 1)
  const file = join(node.dataFolder, 'files', ada.user.uuid, 'version.wasm')
  for (const number of [2, 300, 3]) {
    await writeFile(file, await wat(version(number)))
    t.equal(await versionOf(ada), number)
  }
})

t.test('each user has their own module under the same path', async (t) => {
  const node = await createNativeNode(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await store(ada, '/version.wasm', await wat(version(1)))
  t.match(await callFile(bob, '/version.wasm', 'version'), { status: 404 })
  t.match(await callFile(bob, `/../${ada.user.uuid}/version.wasm`, 'version'), { status: 400 })
  await store(bob, '/version.wasm', await wat(version(2)))
  for (let round = 0; round < 3; round += 1) {
    t.strictSame(await Promise.all([ada, bob, ada].map(versionOf)), [1, 2, 1])
  }
})
