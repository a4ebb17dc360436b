/** `npm run lighthouse`: prints what Lighthouse finds on each page, on a simulated phone. The words behind it choose pages. The exit code is 1 if a goal is missed. */
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import lighthouse, { type Flags } from 'lighthouse'
import { launchChromium } from '../browser/chromium.ts'
import { freePort } from '../free-ports.ts'
import { root } from '../run/command.ts'

/** The lowest scores, of 100. */
const goals = { performance: 90, accessibility: 100, 'best-practices': 100 } as const
type Category = keyof typeof goals

const categories = Object.keys(goals) as Category[]
const rounds = 3

/** The pages, by their places. Nobody is signed in at the first. */
const places = ['sign-in', 'files', 'photos', 'chat', 'trash', 'node', 'published', 'wasm', 'account']

const named = process.argv.slice(2)
const node = await createTestNode({ config: { extends: 'nodekeep:default' }, folder: root })
const owner = await node.signIn('owner')
for (let n = 1; n <= 30; n += 1)
  await owner.fetch(`/write?path=/Letters/Letter ${n}.txt`, { method: 'PUT', body: `Letter ${n}` })
const port = await freePort()
const browser = await launchChromium(`--remote-debugging-port=${port}`)
let isMissed = false
try {
  for (const place of places.filter((one) => named.length === 0 || named.includes(one))) {
    const scores = await scoresOf(node, place)
    const parts = categories.map((category) => `${category} ${scores[category]}`)
    const missed = categories.filter((category) => scores[category] < goals[category])
    isMissed ||= missed.length > 0
    console.log(
      `${place}: ${parts.join(', ')}${missed.length > 0 ? ` (below the goal: ${missed.join(', ')})` : ''}`,
    )
  }
} finally {
  await browser.close()
  await node.stop()
}
process.exitCode = isMissed ? 1 : 0

/** Returns the medians of the scores of a page. */
async function scoresOf({ url }: TestNode, place: string): Promise<Record<Category, number>> {
  const found: Record<Category, number[]> = { performance: [], accessibility: [], 'best-practices': [] }
  const flags: Flags = {
    port,
    logLevel: 'error',
    onlyCategories: categories,
    ...(place !== 'sign-in' && { extraHeaders: { cookie: `session=${owner.token}` } }),
  }
  for (let round = 0; round < rounds; round += 1) {
    const address = place === 'sign-in' ? url : new URL(`/#/${place}`, url)
    const result = (await lighthouse(address.href, flags))?.lhr
    for (const category of categories) {
      const score = result?.categories[category]?.score ?? 0
      found[category].push(Math.round(score * 100))
      if (round === 0 && score * 100 < goals[category]) tellWhy(result?.audits ?? {}, place, category)
    }
  }
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0
  return {
    performance: median(found.performance),
    accessibility: median(found.accessibility),
    'best-practices': median(found['best-practices']),
  }
}

/** Prints the audits that fail. */
function tellWhy(
  audits: Readonly<
    Record<string, { id: string; title: string; score: number | null; displayValue?: string }>
  >,
  place: string,
  category: Category,
): void {
  for (const { id, title, score, displayValue = '' } of Object.values(audits))
    if (score !== null && score < 0.9)
      console.log(`  ${place}, ${category}: ${id} (${title}) ${displayValue}`)
}
