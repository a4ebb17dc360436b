/** The first descriptor that the convention passes. */
const firstDescriptor = 3

/**
 * Takes the socket that systemd or a supervisor has passed to this process (sd_listen_fds(3)). Processes that this one starts do not
 * learn of it.
 *
 * @returns its descriptor; `null` if there is none
 * @throws Error with one sentence that says what to do
 */
export function takeInheritedSocket(): number | null {
  const { LISTEN_FDS: count, LISTEN_PID: pid } = process.env
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete process.env[name]
  if (count === undefined || (pid !== undefined && Number(pid) !== process.pid)) return null
  if (count === '1') return firstDescriptor
  throw new Error(
    `A node listens on one socket, and ${count} were passed to it. Leave one "ListenStream" in the socket unit.`,
  )
}
