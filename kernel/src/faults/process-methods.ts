import { inspect } from 'node:util'

/** The parts of the watch over a process that know plugins. */
interface MethodWatchers {
  /**
   * Called before the process ends.
   *
   * @param call the call, as its author wrote it
   * @param called the method: the code that calls it is the one that ends the process
   * @returns whether a plugin does
   */
  readonly ending: (call: string, called: CallableFunction) => boolean
  /** Returns whether a plugin has called a method. */
  readonly isPlugin: (called: CallableFunction) => boolean
}

/**
 * Watches the methods of `process` by which a plugin could end the node without a trace: no event comes before they do.
 *
 * @returns puts the methods back
 */
export function watchProcessMethods({ ending, isPlugin }: MethodWatchers): () => void {
  const { abort, execve, kill, removeAllListeners } = process
  const { reallyExit } = process as unknown as { reallyExit(code?: number): never }
  const watched = {
    reallyExit(code?: number): never {
      return reallyExit.call(process, ending(`process.reallyExit(${code})`, watched.reallyExit) ? 1 : code)
    },
    abort(): never {
      ending('process.abort()', watched.abort)
      return abort.call(process)
    },
    execve(...call: Parameters<NonNullable<typeof execve>>): never {
      ending(`process.execve(${inspect(call[0])})`, watched.execve)
      // It replaces the process. Node throws on Windows, and declares the method as optional.
      return (execve as NonNullable<typeof execve>).apply(process, call)
    },
    kill(pid: number, signal: string | number = 'SIGTERM'): true {
      // 0 stands for the group of the caller, a negative number for the group with that id. The signal 0 only asks whether a process is there.
      if ([process.pid, -process.pid, 0].includes(pid) && signal !== 0) {
        const target = pid === 0 ? '0' : pid < 0 ? '-process.pid' : 'process.pid'
        ending(`process.kill(${target}, ${inspect(signal)})`, watched.kill)
      }
      return kill.call(process, pid, signal)
    },
    removeAllListeners(event?: string | symbol): NodeJS.Process {
      if (isPlugin(watched.removeAllListeners)) {
        throw new Error(
          'A plugin must not call process.removeAllListeners(): it would remove the listeners of the node and of other plugins. ' +
            'Remove your own with process.off().',
        )
      }
      return removeAllListeners.call(process, event)
    },
  }
  const before = Object.getOwnPropertyDescriptors(process)
  Object.assign(process, watched)
  return () => {
    for (const [name, method] of Object.entries(watched)) {
      if (Reflect.get(process, name) !== method) continue
      Reflect.deleteProperty(process, name)
      const own = before[name as keyof typeof before]
      if (own !== undefined) Object.defineProperty(process, name, own)
    }
  }
}
