/** The range of ports that are allocated, both included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/**
 * Reads a range such as `20000-20999`. An empty text is no range.
 *
 * @throws Error with a sentence for people
 */
export function parsePortRange(text: string): PortRange | null {
  if (text === '') return null
  const [first = 0, last = 0] = text.split('-').map(Number)
  if (first < 1 || last > 65_535 || first > last) {
    throw new Error(
      `"gateway.ports.range" must be two ports from 1 to 65535, the lower one first. It is "${text}".`,
    )
  }
  return { first, last }
}
