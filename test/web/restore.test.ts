import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestNode, runCommand, type TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { needsChromium, startChromium } from '../browser/chromium.ts'
import { startClaimableNode } from './claimable-node.ts'
import { addWallet } from './wallet.ts'

const backupPlugin = fileURLToPath(new URL('../../plugins/backup', import.meta.url))

const json = { 'content-type': 'application/json' }

/** Makes a recovery key, with the command for it. */
async function makeKey(folder: string): Promise<{ identity: string; recipient: string }> {
  const { stdout, stderr } = await runCommand(['backup', 'key'], { cwd: folder })
  const found = [/AGE-SECRET-KEY-1\w+/, /age1\w+/].map((part) => part.exec(stdout + stderr)?.[0])
  const [identity = '', recipient = ''] = found
  return { identity, recipient }
}

/** Asks a node, and returns the JSON of the answer. */
async function ask<T>(user: TestUser, path: string, init: RequestInit): Promise<T> {
  const answer = await user.fetch(path, init)
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  return (await answer.json()) as T
}

t.test(
  'a new node takes an encrypted backup in the browser, and has everything',
  { skip: needsChromium },
  async (t) => {
    const browser = await startChromium(t)
    const context = await browser.newContext()
    context.setDefaultTimeout(60_000)
    const { address } = await addWallet(context)
    const page = await context.newPage()
    const faults: string[] = []
    page.on('pageerror', ({ message }) => faults.push(message))

    const config = { plugins: { backup: { from: backupPlugin } }, data: './data' }
    const keys = t.testdir({ 'nodekeep.json': JSON.stringify(config), new: {} })
    const { identity, recipient } = await makeKey(keys)
    const first = await createTestNode({
      folder: import.meta.dirname,
      config: {
        plugins: { files: true, 'storage-local': true, backup: true },
        backup: { drill: false, recipients: [recipient] },
      },
    })
    t.teardown(() => first.stop())
    const owner = await first.signIn('owner')
    const body = JSON.stringify({ wallet: address, username: 'ada' })
    await ask(owner, '/api/users', { method: 'POST', headers: json, body })
    await ask(owner, '/write?path=/letter.txt', { method: 'PUT', body: 'of the owner' })
    const { filename } = await ask<{ filename: string }>(owner, '/api/backup/create', { method: 'POST' })
    const backup = join(first.dataFolder, 'backups', filename)

    const folder = join(keys, 'new')
    const node = await startClaimableNode(t, folder, '0')
    const home = /\S+#claim=\S+/.exec(node.banner)?.[0] ?? ''
    await page.goto(home.replace(/claim=.*/, 'claim=AAAA-AAAA-AAAA'))
    const begin = () => page.getByRole('button', { name: 'I have a backup' }).click()
    const choose = (file: string | { name: string; mimeType: string; buffer: Buffer }) =>
      page.getByLabel('Backup, such as').setInputFiles(file)
    await begin()
    await choose(backup)
    await page.getByRole('alert').getByText('The claim code is wrong.').waitFor()
    t.equal(
      await page.getByLabel('Claim code').getAttribute('aria-invalid'),
      'true',
      'the fault stands at its field',
    )
    await page.getByLabel('Claim code').fill(home.split('claim=')[1] ?? '')
    await begin()
    await choose({ name: 'letter.txt', mimeType: 'text/plain', buffer: Buffer.from('a letter') })
    await page.getByRole('alert').getByText('This file is no backup.').waitFor()
    const bytes = await readFile(backup)
    await choose({
      name: 'cut.gz',
      mimeType: 'application/gzip',
      buffer: bytes.subarray(0, bytes.length - 100),
    })
    await page.getByRole('heading', { name: 'This backup is encrypted' }).waitFor()
    const unlock = async (key: string) => {
      await page.getByLabel('Recovery key').fill(key)
      await page.getByRole('button', { name: 'Open the backup' }).click()
    }
    await unlock(identity)
    await page.getByRole('alert').getByText('The archive backup-').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await begin()
    await choose(backup)
    await unlock((await makeKey(keys)).identity)
    await page.getByRole('alert').getByText(/key/).waitFor()
    await unlock(identity)
    await page.getByRole('heading', { name: 'Everything as it was on' }).waitFor()
    await page.getByText('2 people come back').waitFor()
    await page.getByText(`The owner is ${owner.user.username}.`).waitFor()
    await page.getByRole('button', { name: 'Bring it all back' }).click()
    await page.getByRole('heading', { name: 'Now restart the node' }).waitFor()
    await node.stop()

    await startClaimableNode(t, folder, node.url.port)
    await page.getByText('Your node is back').waitFor()
    // The node has an owner. The page learns it a moment later than that the node is back.
    await page.getByLabel('Claim code').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Sign in with Test Wallet' }).click()
    await page.getByRole('button', { name: 'Menu of ada' }).waitFor()
    const letter = join(folder, 'files', owner.user.uuid, 'letter.txt')
    t.equal(await readFile(letter, 'utf8'), 'of the owner')
    t.strictSame(faults, [])
  },
)
