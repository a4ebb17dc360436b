import type { ImportGraph } from './import-graph.ts'
import type { Package } from './packages.ts'

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Finds circles of imports, those of types included, between the files and folders that lie side by side in a folder of a
 * package's sources. A folder counts as one with all that is below it.
 *
 * @returns one line for each circle, with a shortest way around it
 */
export function checkCircles(packages: readonly Package[], imports: ImportGraph): string[] {
  return packages
    .filter(({ folder }) => folder !== '')
    .flatMap(({ folder }) => {
      const isSource = (file: string) => file.startsWith(`${folder}/src/`)
      return circlesOf(graphOf(imports, isSource)).map(
        (circle) => `${folder}: a circle of imports: ${circle.join(' -> ')}`,
      )
    })
}

/** Which files and folders import which of those beside them. The path of a folder ends with a slash. */
function graphOf(imports: ImportGraph, isSource: (file: string) => boolean): Graph {
  const graph = new Map<string, Set<string>>()
  for (const [file, targets] of imports) {
    for (const target of targets) {
      if (!isSource(file) || !isSource(target) || !imports.has(target)) continue
      const [from, to] = besideEachOther(file, target)
      graph.set(from, (graph.get(from) ?? new Set()).add(to))
    }
  }
  return graph
}

/** The file or folder within the lowest common folder of two files that each of them is or lies in. */
function besideEachOther(one: string, other: string): [one: string, other: string] {
  const [ones, others] = [one.split('/'), other.split('/')]
  const depth = ones.findIndex((name, i) => name !== others[i])
  const upTo = (names: readonly string[]) =>
    names.slice(0, depth + 1).join('/') + (names.length > depth + 1 ? '/' : '')
  return [upTo(ones), upTo(others)]
}

/** One shortest circle for each group of nodes that reach each other. */
function circlesOf(graph: Graph): string[][] {
  const circles: string[][] = []
  const covered = new Set<string>()
  for (const start of [...graph.keys()].sort()) {
    if (covered.has(start)) continue
    const way = wayBack(graph, start)
    if (way === null) continue
    circles.push(way)
    for (const node of way) covered.add(node)
  }
  return circles
}

/** A shortest way from a node back to itself; `null` if there is none. */
function wayBack(graph: Graph, start: string): string[] | null {
  const ways: string[][] = [[start]]
  const seen = new Set<string>()
  for (const way of ways) {
    for (const next of graph.get(way.at(-1) ?? '') ?? []) {
      if (next === start) return [...way, start]
      if (seen.has(next)) continue
      seen.add(next)
      ways.push([...way, next])
    }
  }
  return null
}
