/** Builds layout inputs by hand: `const b = new Builder(); const x = b.node("x"); b.edge(x, b.node("relu"))`. */
import { type LayoutInput } from "../types.ts";

export class Builder {
  readonly labels: string[] = [];
  readonly groupLabels: string[] = [];
  private readonly group: number[] = [];
  private readonly width: number[] = [];
  private readonly height: number[] = [];
  private readonly source: number[] = [];
  private readonly target: number[] = [];
  private readonly port: number[] = [];
  private readonly parent: number[] = [];
  private readonly inputs: number[] = [];

  open(label: string, parent = -1): number {
    this.groupLabels.push(label);
    return this.parent.push(parent) - 1;
  }

  node(label: string, group = -1, inputs: number[] = [], height = 34): number {
    const node = this.labels.push(label) - 1;
    this.group.push(group);
    this.width.push(Math.max(40, 16 + 7 * label.length));
    this.height.push(height);
    this.inputs.push(0);
    for (const input of inputs) this.edge(input, node);
    return node;
  }

  edge(source: number, target: number): void {
    this.source.push(source);
    this.target.push(target);
    this.port.push(this.inputs[target]++);
  }

  get nodeCount(): number {
    return this.labels.length;
  }
  get edgeCount(): number {
    return this.source.length;
  }

  /** Shows a group's contents or hides its box: the same graph without groups. */
  flat(): LayoutInput {
    const input = this.input();
    return {
      ...input,
      nodes: { ...input.nodes, group: input.nodes.group.map(() => -1) },
      groups: { parent: new Int32Array(0), headerHeight: new Float32Array(0), minWidth: new Float32Array(0) },
    };
  }

  input(): LayoutInput {
    return {
      nodes: {
        width: Float32Array.from(this.width),
        height: Float32Array.from(this.height),
        group: Int32Array.from(this.group),
      },
      edges: {
        source: Uint32Array.from(this.source),
        target: Uint32Array.from(this.target),
        port: Uint16Array.from(this.port),
      },
      groups: {
        parent: Int32Array.from(this.parent),
        headerHeight: new Float32Array(this.parent.length).fill(20),
        minWidth: Float32Array.from(this.groupLabels, (label) => 20 + 6 * label.length),
      },
    };
  }
}
