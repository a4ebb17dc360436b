/**
 * `npm run lighthouse`: prints what Lighthouse finds on each page, on a simulated phone. Words behind `--` choose pages. The exit code is 1
 * if a goal is missed. npx brings Lighthouse when it is asked to, since its 150 packages would make each installation slower.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createTestNode } from '@nodekeep/kernel/testing'
import { launchChromium } from '../browser/chromium.ts'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'

const lighthouse = 'lighthouse@13.5.0'

/** The lowest scores, of 100. */
const goals = { performance: 90, accessibility: 100, 'best-practices': 100 } as const
type Category = keyof typeof goals

const categories = Object.keys(goals) as Category[]
const rounds = 3

/** The pages, by their places. Nobody is signed in at the first. */
const places = [
  'sign-in',
  'files',
  'photos',
  'chat',
  'trash',
  'links',
  'node',
  'published',
  'wasm',
  'account',
]

/** The part of a report that counts here. */
interface Report {
  readonly categories: Readonly<Record<Category, { readonly score: number | null }>>
  readonly audits: Readonly<
    Record<
      string,
      {
        readonly title: string
        readonly score: number | null
        readonly displayValue?: string
      }
    >
  >
}

const named = process.argv.slice(2)
const folder = await mkdtemp(join(tmpdir(), 'lighthouse-'))
const node = await createTestNode({ config: { extends: 'nodekeep:default' }, folder: root })
const owner = await node.signIn('owner')
for (let n = 1; n <= 30; n += 1)
  await owner.fetch(`/write?path=/Letters/Letter ${n}.txt`, { method: 'PUT', body: `Letter ${n}` })
const headers = join(folder, 'headers.json')
await writeFile(headers, JSON.stringify({ cookie: `session=${owner.token}` }))
const port = await freePort()
const browser = await launchChromium(`--remote-debugging-port=${port}`)
let isMissed = false
try {
  for (const place of places.filter((one) => named.length === 0 || named.includes(one))) {
    const reports: Report[] = []
    while (reports.length < rounds) reports.push(await reportOf(place))
    const scores = categories.map((category) => [category, medianOf(reports, category)] as const)
    const missed = scores.filter(([category, score]) => score < goals[category])
    isMissed ||= missed.length > 0
    console.log(`${place}: ${scores.map(([category, score]) => `${category} ${score}`).join(', ')}`)
    if (missed.length > 0) tellWhy(reports)
  }
} finally {
  await browser.close()
  await node.stop()
  await rm(folder, { recursive: true })
}
process.exitCode = isMissed ? 1 : 0

async function reportOf(place: string): Promise<Report> {
  const address = place === 'sign-in' ? node.url : new URL(`/#/${place}`, node.url)
  const session = place === 'sign-in' ? [] : ['--extra-headers', headers]
  const args = ['--port', String(port), '--output', 'json', '--quiet', ...session]
  const child = spawn(
    'npx',
    ['--yes', lighthouse, address.href, '--only-categories', categories.join(), ...args],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')])
  return JSON.parse(output) as Report
}

function medianOf(reports: readonly Report[], category: Category): number {
  const scores = reports.map((report) => Math.round((report.categories[category].score ?? 0) * 100))
  return scores.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
}

/** Prints the audits of the first report that are not good. */
function tellWhy([report]: readonly Report[]): void {
  for (const [id, { title, score, displayValue = '' }] of Object.entries(report?.audits ?? {}))
    if (score !== null && score < 0.9) console.log(`  ${id}: ${title} ${displayValue}`)
}
