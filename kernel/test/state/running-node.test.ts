import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'

test('a node that cannot store its address serves all the same', async (t) => {
  const dataFolder = t.testdir()
  mkdirSync(join(dataFolder, 'address.json'))
  const lines: string[] = []
  const node = await createTestNode({ dataFolder, onLog: (line) => lines.push(line) })
  t.equal((await node.fetch('/health')).status, 200)
  await node.stop()
  t.match(lines.join(''), /could not be stored for the command line/)
  t.notMatch(lines.join(''), /A step of stopping the node failed/)
})
