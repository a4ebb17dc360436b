import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needsPrograms } from '@nodekeep/kernel/testing'
import t from 'tap'
import { startDavNode } from './fixtures/dav-node.ts'
import { runProgram } from './fixtures/run-program.ts'

t.test(
  'cadaver works through folders, files, properties and locks',
  { skip: needsPrograms('cadaver') },
  async (t) => {
    const node = await startDavNode(t)
    const { address, username, password } = node
    const folder = t.testdir({
      '.netrc': `machine ${new URL(address).hostname} login ${username} password ${password}\n`,
      'letter.txt': 'Dear Ms. Lindt,\n',
    })
    /** Runs commands, and returns what cadaver says to them. */
    const run = async (...commands: string[]) => {
      const { output } = await runProgram('cadaver', [address], {
        cwd: folder,
        env: { HOME: folder, TERM: 'dumb' },
        input: `${[...commands, 'quit'].join('\n')}\n`,
      })
      t.notMatch(output, /failed|Could not|unauthorized/i, commands.join(', '))
      return output
    }
    await run('mkcol Letters', 'put letter.txt Letters/one.txt')
    t.equal(await node.read('/Letters/one.txt'), 'Dear Ms. Lindt,\n')
    t.match(await run('ls Letters'), /one\.txt\s+16/)
    await run('copy Letters/one.txt Letters/two.txt', 'move Letters/two.txt Letters/three.txt')
    t.equal(await node.read('/Letters/two.txt'), null)
    t.equal(await node.read('/Letters/three.txt'), 'Dear Ms. Lindt,\n')
    await run('propset Letters/three.txt color blue')
    t.match(await run('propget Letters/three.txt color'), /Value of color is: blue/)
    await run('get Letters/three.txt back.txt')
    t.equal(await readFile(join(folder, 'back.txt'), 'utf8'), 'Dear Ms. Lindt,\n')
    // cadaver keeps its locks until it ends.
    const locked = await run('lock Letters/one.txt', 'discover Letters/one.txt', 'unlock Letters/one.txt')
    t.match(locked, /opaquelocktoken:|urn:uuid:/)
    await run('delete Letters/three.txt', 'rmcol Letters')
    t.equal(await node.read('/Letters/one.txt'), null)
  },
)

t.test('cadaver with a wrong password gets nothing', { skip: needsPrograms('cadaver') }, async (t) => {
  const { address, username } = await startDavNode(t)
  const folder = t.testdir({
    '.netrc': `machine ${new URL(address).hostname} login ${username} password nkt_wrong\n`,
  })
  const { output } = await runProgram('cadaver', [address], {
    cwd: folder,
    env: { HOME: folder, TERM: 'dumb' },
    input: 'ls\nquit\n',
  })
  t.match(output, /Could not authenticate|Authentication|401/i)
})
