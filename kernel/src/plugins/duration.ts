/** A duration for people: `30 s`, `250 ms`. */
export function duration(ms: number): string {
  return ms >= 1000 ? `${Math.round(ms / 100) / 10} s` : `${ms} ms`
}
