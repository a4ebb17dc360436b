import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { backupProgram } from './backup-client.ts'
import type { Fault } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { memoryOf, peakWhile } from './files-transfer.ts'

/** Mebibytes that a node may use on top of its idle memory. */
const allowance = 150

const smallFiles = 100_000
const largeBytes = 5 * 2 ** 30

/** Files that take the ways of most files through a backup: half of them compress, and their archive is large. */
const commonFiles = 32
const commonBytes = 16 * 2 ** 20

/** Memory that a backup keeps would add up. */
const backups = 3

async function makeBackup({ url, session }: FilesProcess): Promise<void> {
  const headers = { authorization: `Bearer ${session.token}` }
  const leave = AbortSignal.timeout(1000)
  // A backup of this size takes longer than `fetch` waits for an answer. A client that leaves does not end it.
  await fetch(new URL('/api/backup/create', url), { method: 'POST', headers, signal: leave }).catch(() => {})
  for (;;) {
    const answer = await fetch(new URL('/api/backup/status', url), { headers })
    const { running, last } = (await answer.json()) as {
      running: unknown
      last: { problem: string | null } | null
    }
    if (running === null) {
      assert.equal(last?.problem, null)
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

export default {
  name: 'Each of several backups with a file of 5 GiB and 100,000 small ones takes at most 150 MiB of memory.',
  defaultRounds: 1,
  roundSeconds: 3600,
  async round({ log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-large-'))
    try {
      const node = await startFiles(dataFolder, undefined, { program: backupProgram })
      try {
        await makeBackup(node)
        const idle = await memoryOf(node.pid)
        const home = join(dataFolder, 'files', node.session.uuid)
        for (let index = 0; index < smallFiles; index += 1) {
          const folder = join(home, `${index % 100}`)
          if (index < 100) await mkdir(folder, { recursive: true })
          await writeFile(join(folder, `${index}`), `${index}`)
        }
        // A file of zeros takes no room, in the storage and in the archive.
        const large = await open(join(home, 'large'), 'wx')
        await large.truncate(largeBytes)
        await large.close()
        for (let index = 0; index < commonFiles; index += 1) {
          const bytes = randomBytes(commonBytes)
          const content = index % 2 === 0 ? bytes : bytes.toString('base64').slice(0, commonBytes)
          await writeFile(join(home, `common-${index}`), content)
        }
        for (let backup = 1; backup <= backups; backup += 1) {
          const above = (await peakWhile(node.pid, makeBackup(node))) - idle
          log(`backup ${backup}: ${above.toFixed(0)} MiB above ${idle.toFixed(0)} MiB`)
          assert.ok(above <= allowance, `backup ${backup} took ${above.toFixed(0)} MiB`)
        }
      } finally {
        await node.kill()
      }
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
