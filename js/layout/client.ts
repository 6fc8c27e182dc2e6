/**
 * The page's side of the layout workers. A request waits here until a worker is free, so that a newer one of its channel can
 * replace it. One worker is enough for a page as a rule; while each is busy with a long layout, the next request gets another.
 * Where a content security policy forbids workers, the engine runs on this thread.
 */
import { type LayoutEngine } from "./compound.ts";
import { type LayoutInput, type LayoutResult, type Reply, type Request } from "./types.ts";
import source from "./worker.ts?worker";

/** A newer request took this one's place: not a failure, nothing to show. */
export class Superseded extends Error {
  override readonly name = "Superseded";
}

interface Job {
  request: Request;
  channel: string;
  resolve: (result: LayoutResult) => void;
  reject: (error: Error) => void;
}

/** One worker, or this thread, and the job that it is at. */
interface Runner {
  worker: Worker | null;
  running: Job | null;
  /** The job has taken longer than LONG_MS. */
  long: boolean;
  timer: number;
}

export interface LayoutSource {
  makeWorker: () => Worker;
  /** The engine for a page without workers. */
  engine: () => Promise<LayoutEngine>;
  /** Milliseconds after which a layout no longer holds up the others. */
  longMs?: number;
}

const LONG_MS = 300;
/** Each has an engine, with its caches. */
const MOST_WORKERS = 4;

export class LayoutClient {
  private readonly runners: Runner[] = [];
  private readonly waiting: Job[] = [];
  /** Workers turned out to be forbidden on this page. */
  private local = false;
  private engine: Promise<LayoutEngine> | null = null;
  private workerHasAnswered = false;
  private nextId = 1;
  private disposed = false;

  constructor(private readonly source: LayoutSource = { makeWorker: openWorker, engine: engineHere }) {}

  /** A request drops the earlier ones of its channel, waiting or running: they reject with Superseded. */
  run(input: LayoutInput, channel: string): Promise<LayoutResult> {
    if (this.disposed) return Promise.reject(new Error("The layout client is closed."));
    this.drop(channel);
    return new Promise((resolve, reject) => {
      this.waiting.push({ request: { id: this.nextId++, input }, channel, resolve, reject });
      this.startNext();
    });
  }

  /** Opens the first worker ahead of the first question, so that it starts while the page still reads its graph. */
  warm(): void {
    if (!this.disposed && this.runners.length === 0) this.open();
  }

  /** Rejects the requests of a channel with Superseded. A long layout among them ends with its worker, unless that is the only one. */
  drop(channel: string): void {
    const superseded = new Superseded("A newer layout was asked for.");
    for (let i = this.waiting.length - 1; i >= 0; i--)
      if (this.waiting[i].channel === channel) this.waiting.splice(i, 1)[0].reject(superseded);
    for (const runner of [...this.runners]) {
      if (runner.running?.channel !== channel) continue;
      runner.running.reject(superseded);
      if (runner.long && runner.worker && this.runners.length > 1) this.end(runner);
    }
    this.startNext();
  }

  dispose(): void {
    this.disposed = true;
    const closed = new Superseded("The layout client was closed.");
    for (const { worker, running, timer } of this.runners.splice(0)) {
      clearTimeout(timer);
      worker?.terminate();
      running?.reject(closed);
    }
    for (const job of this.waiting.splice(0)) job.reject(closed);
  }

  private startNext(): void {
    while (this.waiting.length > 0) {
      const runner = this.runners.find(({ running }) => !running) ?? this.another();
      const job = runner && this.waiting.shift();
      if (!job) return;
      this.start(runner, job);
    }
    this.endIdle();
  }

  /** One more worker, if all of them are at long layouts. */
  private another(): Runner | null {
    const all = this.local ? 1 : MOST_WORKERS;
    return this.runners.length < all && this.runners.every(({ long }) => long) ? this.open() : null;
  }

  /** Keeps one idle worker. */
  private endIdle(): void {
    const idle = this.runners.filter(({ running }) => !running);
    for (const runner of idle.slice(1)) this.end(runner);
  }

  private end(runner: Runner): void {
    clearTimeout(runner.timer);
    runner.worker?.terminate();
    runner.worker = null;
    runner.running = null;
    this.runners.splice(this.runners.indexOf(runner), 1);
  }

  private start(runner: Runner, job: Job): void {
    runner.running = job;
    runner.timer = globalThis.setTimeout(() => {
      runner.long = true;
      this.startNext();
    }, this.source.longMs ?? LONG_MS) as unknown as number;
    if (!runner.worker) return this.runHere(runner, job);
    try {
      runner.worker.postMessage(job.request);
    } catch (error) {
      this.fail(runner, error);
    }
  }

  private open(): Runner {
    const runner: Runner = { worker: null, running: null, long: false, timer: 0 };
    this.runners.push(runner);
    try {
      if (!this.local) this.use(runner, this.source.makeWorker());
    } catch {
      this.local = true;
    }
    return runner;
  }

  private use(runner: Runner, worker: Worker): void {
    runner.worker = worker;
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      this.workerHasAnswered = true;
      if (runner.running?.request.id !== data.id) return;
      if ("error" in data) this.fail(runner, data.error);
      else this.finish(runner, (job) => job.resolve(data.result));
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (worker === runner.worker) this.lost(runner, event.message || "the worker stopped");
    };
  }

  /** A worker that never answered was blocked by the page: go on here. One that did has crashed: the next call gets a new one. */
  private lost(runner: Runner, message: string): void {
    runner.worker?.terminate();
    runner.worker = null;
    if (this.workerHasAnswered) {
      this.runners.splice(this.runners.indexOf(runner), 1);
      return this.fail(runner, message);
    }
    this.local = true;
    if (runner.running) this.runHere(runner, runner.running);
  }

  private runHere(runner: Runner, job: Job): void {
    // A timer lets the page paint its "laying out" state first.
    setTimeout(async () => {
      try {
        this.engine ??= this.source.engine();
        const engine = await this.engine;
        if (runner.running !== job) return;
        const result = engine.layout(job.request.input);
        this.finish(runner, ({ resolve }) => resolve(result));
      } catch (error) {
        this.fail(runner, error);
      }
    }, 0);
  }

  private fail(runner: Runner, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.finish(runner, ({ reject }) => reject(new Error(`Layout failed: ${message}`)));
  }

  private finish(runner: Runner, settle: (job: Job) => void): void {
    const job = runner.running;
    clearTimeout(runner.timer);
    runner.running = null;
    runner.long = false;
    if (job) settle(job);
    this.startNext();
  }
}

/** A cell that runs again ends its view and makes another: that one has the warm worker. */
const LINGER_MS = 1000;

/** One client for all widgets of a page: they rarely lay out at once, and each worker costs some memory. */
let shared: LayoutClient | null = null;
let users = 0;
let count = 0;

/** Asks the workers for places; a question that a newer one overtook is answered with null. */
export class Arranger {
  private readonly channel = `stage ${++count}`;
  private disposed = false;
  private readonly client: LayoutClient;

  constructor() {
    shared ??= new LayoutClient();
    this.client = shared;
    this.client.warm();
    users++;
  }

  async run(input: LayoutInput): Promise<LayoutResult | null> {
    if (this.disposed) return null;
    try {
      const result = await this.client.run(input, this.channel);
      return this.disposed ? null : result;
    } catch (error) {
      if (error instanceof Superseded) return null;
      throw error;
    }
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.client.drop(this.channel);
    users--;
    if (users === 0) setTimeout(endUnused, LINGER_MS);
  }
}

function endUnused(): void {
  if (users > 0) return;
  shared?.dispose();
  shared = null;
}

let workerUrl = "";

/** The program comes from a Blob URL, because a notebook page has no second one; kept, since some browsers read it only after the constructor. */
function openWorker(): Worker {
  workerUrl ||= URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  return new Worker(workerUrl, { name: "tvm-workbench layout" });
}

/** The same program as a module: the bundle has one copy of the engine. */
export async function engineHere(): Promise<LayoutEngine> {
  const text = `${source}\nexport default layout.LayoutEngine;`;
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: Engine } = await load(url, text);
  return new Engine();
}

async function load(url: string, text: string): Promise<{ default: new () => LayoutEngine }> {
  try {
    return await import(url);
  } catch (error) {
    // Node imports data URLs only.
    if ((error as { code?: string }).code === "ERR_UNSUPPORTED_ESM_URL_SCHEME")
      return import(`data:text/javascript,${encodeURIComponent(text)}`);
    throw new Error("this page allows neither workers nor modules from a Blob URL");
  }
}
